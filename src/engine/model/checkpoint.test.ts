import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { readModelFolder, writeModelFolder } from './checkpoint.ts';
import { parameterCount } from './config.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

const read = (path: string): ArrayBuffer => {
  const bytes = readFileSync(new URL(`./fixtures/ckpt/${path}`, import.meta.url));
  return new Uint8Array(bytes).buffer;
};
const folder = (name: string) =>
  new Map(['config.json', 'model.safetensors'].map((file) => [file, read(`${name}/${file}`)]));
const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).buffer;
const json = (bytes: ArrayBuffer | Uint8Array<ArrayBuffer>) => JSON.parse(new TextDecoder().decode(bytes));
const buffers = (files: Map<string, Uint8Array<ArrayBuffer>>) =>
  new Map([...files].map(([name, bytes]) => [name, bytes.buffer]));

const tokenizer = {
  special: TEST_IDS,
  json: { version: '1.0', model: { type: 'WordLevel' } },
  configJson: { tokenizer_class: 'PreTrainedTokenizerFast' },
  token: (id: number) => ['<pad>', '<bos>', '<eos>'][id],
};

/** The llama folder with its config and tensors changed. */
function changed(
  edit: (
    config: Record<string, unknown>,
    tensors: Map<string, { shape: readonly number[]; data: Float32Array }>,
  ) => void,
  name = 'llama',
) {
  const files = folder(name);
  const config = json(files.get('config.json')!);
  const tensors = readSafetensors(files.get('model.safetensors')!, 'x').tensors as unknown as Parameters<
    typeof edit
  >[1];
  edit(config, tensors);
  files.set('config.json', text(config));
  files.set('model.safetensors', writeSafetensors(tensors).bytes.buffer);
  return files;
}

describe.each(['llama', 'qwen2', 'qwen3'])('%s', (name) => {
  test('read, write, read: bit for bit', () => {
    const first = readModelFolder(folder(name));
    const total = [...first.weights.values()].reduce((sum, { data }) => sum + data.length, 0);
    expect(total).toBe(parameterCount(first.config));
    expect(first.tokenizerJson).toBeNull();
    const files = writeModelFolder({ ...first, tokenizer, extra: { 'README.md': '# x' } });
    expect([...files.keys()]).toEqual([
      'config.json',
      'generation_config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
      'special_tokens_map.json',
      'README.md',
    ]);
    const second = readModelFolder(buffers(files));
    expect(second.config).toEqual(first.config);
    expect(second.tokenizerJson).toEqual(tokenizer.json);
    expect(second.tokenizerConfigJson).toEqual(tokenizer.configJson);
    expect(json(files.get('special_tokens_map.json')!)).toEqual({
      bos_token: '<bos>',
      eos_token: '<eos>',
      pad_token: '<pad>',
    });
    expect([...second.weights.keys()]).toEqual([...first.weights.keys()]);
    for (const [key, { shape, data }] of first.weights) {
      const again = second.weights.get(key)!;
      expect(again.shape, key).toEqual(shape);
      expect(new Uint32Array(again.data.buffer), key).toEqual(new Uint32Array(data.buffer));
    }
    const head = readSafetensors(files.get('model.safetensors')!.buffer, 'x').tensors.has('lm_head.weight');
    expect(head).toBe(!first.config.tieWordEmbeddings);
  });
});

describe('reading', () => {
  test('a folder inside a folder, and shards with an index', () => {
    const { weights } = readModelFolder(folder('llama'));
    const names = [...weights.keys()];
    const shard = (keys: string[]) =>
      writeSafetensors(new Map(keys.map((key) => [key, weights.get(key)!]))).bytes.buffer;
    const half = names.length >> 1;
    const files = new Map([
      ['m/config.json', read('llama/config.json')],
      [
        'm/model.safetensors.index.json',
        text({
          weight_map: Object.fromEntries(names.map((n, i) => [n, `model-${i < half ? 1 : 2}.safetensors`])),
        }),
      ],
      ['m/model-1.safetensors', shard(names.slice(0, half))],
      ['m/model-2.safetensors', shard(names.slice(half))],
    ]);
    expect(readModelFolder(files).weights.size).toBe(weights.size);
    files.delete('m/model-2.safetensors');
    expect(() => readModelFolder(files)).toThrow(
      /lacks "model-2\.safetensors", which model\.safetensors\.index\.json names/,
    );
  });

  test('half precision comes back as float32', () => {
    const model = readModelFolder(folder('llama'));
    const files = writeModelFolder({ ...model, tokenizer: null, floats: 'BF16' });
    expect(json(files.get('config.json')!).torch_dtype).toBe('bfloat16');
    const again = readModelFolder(buffers(files));
    for (const [key, { data }] of model.weights) {
      const rounded = again.weights.get(key)!.data;
      // bfloat16 keeps 8 significant bits.
      expect(
        data.findIndex((x, i) => !(Math.abs(rounded[i] - x) <= Math.abs(x) * 2 ** -8)),
        key,
      ).toBe(-1);
    }
  });

  test('a tied file may carry the same head, a different one is not dropped in silence', () => {
    const withHead = (scale: number) =>
      changed((_, tensors) => {
        const { shape, data } = tensors.get('model.embed_tokens.weight')!;
        tensors.set('lm_head.weight', { shape, data: data.map((x) => x * scale) });
      }, 'qwen2');
    expect(readModelFolder(withHead(1)).weights.has('lm_head.weight')).toBe(false);
    expect(() => readModelFolder(withHead(2))).toThrow(/"lm_head\.weight" differs from the embedding/);
  });

  test.each([
    [
      'a missing tensor',
      changed((_, t) => t.delete('model.layers.1.mlp.up_proj.weight')),
      /The model file lacks "model\.layers\.1\.mlp\.up_proj\.weight", which config\.json asks for/,
    ],
    [
      'an untied head that is missing',
      changed((_, t) => t.delete('lm_head.weight')),
      /lacks "lm_head\.weight"/,
    ],
    [
      'many missing tensors',
      changed((c) => {
        c.num_hidden_layers = 4;
      }),
      /and 13 more/,
    ],
    [
      'a wrong shape',
      changed((c) => {
        c.vocab_size = 81;
      }),
      /"model\.embed_tokens\.weight" has the shape \[80,48\], but config\.json asks for \[81,48\]/,
    ],
    [
      'a tensor without a description',
      changed((_, t) =>
        t.set('model.layers.0.self_attn.q_proj.bias', { shape: [1], data: new Float32Array(1) }),
      ),
      /holds "model\.layers\.0\.self_attn\.q_proj\.bias", which config\.json does not describe/,
    ],
    [
      'an unknown architecture',
      changed((c) => {
        c.model_type = 'gpt2';
      }),
      /model_type "gpt2" is not supported/,
    ],
    ['no config', new Map([['model.safetensors', read('llama/model.safetensors')]]), /no config\.json/],
    ['no weights', new Map([['config.json', read('llama/config.json')]]), /no model\.safetensors/],
    [
      'pickled weights',
      new Map([
        ['config.json', read('llama/config.json')],
        ['pytorch_model.bin', new ArrayBuffer(1)],
      ]),
      /"pytorch_model\.bin" is in another format/,
    ],
    [
      'a config that is not JSON',
      new Map([['config.json', new TextEncoder().encode('{').buffer as ArrayBuffer]]),
      /config\.json is not JSON/,
    ],
  ])('refuses %s', (_, files, message) => {
    expect(() => readModelFolder(files)).toThrow(UserError);
    expect(() => readModelFolder(files)).toThrow(message);
  });
});

test('never writes a checkpoint with holes', () => {
  const model = readModelFolder(folder('llama'));
  model.weights.delete('model.norm.weight');
  expect(() => writeModelFolder({ ...model, tokenizer: null })).toThrow(/"model\.norm\.weight" is missing/);
});
