/** The frozen reference of a KL term: the weights that a stage began with. */
import { UserError } from '../../base/assert.ts';
import { tensorShapes } from '../model/config.ts';
import { Decoder, type WeightArray } from '../model/decoder.ts';

/** Before the names of its weights in a save. */
const PREFIX = 'reference.';

/**
 * A frozen copy: of the model as it is, or, where a stage goes on from a save, of what the save says it began with. The
 * caller disposes it.
 * @param saved the save's tensors by name, if steps of this stage are done already
 */
export async function frozenReference(
  model: Decoder,
  saved: ReadonlyMap<string, WeightArray> | null,
): Promise<Decoder> {
  if (!saved) return new Decoder(model.config, await model.snapshot());
  const weights = new Map<string, WeightArray>();
  for (const name of tensorShapes(model.config).keys()) {
    const array = saved.get(PREFIX + name);
    if (!array)
      throw new UserError(
        `The save has no "${PREFIX}${name}", the weights that the stage began with and its KL weight holds to, so the run cannot go on from it. Go on from an earlier save, or set klBeta to 0.`,
      );
    weights.set(name, array);
  }
  return new Decoder(model.config, weights);
}

/** Its weights by the names that they have in a save. */
export async function referenceArrays(reference: Decoder): Promise<Map<string, WeightArray>> {
  return new Map([...(await reference.snapshot())].map(([name, array]) => [PREFIX + name, array]));
}
