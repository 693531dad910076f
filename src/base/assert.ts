/** An error whose message is written for the person at the page: it names the thing, the reason and the way out. */
export class UserError extends Error {
  override name = 'UserError';
}

/** Throws when a condition that the code itself guarantees does not hold (a fault of ours, not of the input). */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Internal error: ${message}`);
}

/** Marks a switch as exhaustive: the compiler refuses a call while a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`Internal error: unexpected value ${JSON.stringify(value)}`);
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
