/** What a data set holds, before tokens. */
export interface Document {
  /** Shown to the model, never trained on (unless the stage trains on whole texts). */
  prompt: string;
  /** What the model is trained to write after the prompt, without the end-of-text token. */
  completion: string;
  /** Added to the position of every response token: makes copying independent of distance (default recipe, section 3). */
  positionGap?: number;
}

/** A problem with a checkable answer, for RL and evaluation. */
export interface Problem {
  prompt: string;
  /** The gold answer, as text. */
  answer: string;
  difficulty: string;
}

/**
 * A tokenised sequence, ready for the model. All arrays have one entry per slot (emission or text order).
 * `branches`: 0 for the trunk, else 16·block + path (block ≥ 1, path 1–15): token i sees token j iff j ≤ i and not
 * (same block, different path). That rule is the path-window mask of the paper (Parallel-R1, section 3.3).
 */
export interface Example {
  tokens: Int32Array;
  /** RoPE positions. */
  positions: Int32Array;
  branches: Int32Array;
  /** 1 where the token is a training target (it is predicted from the slot before it). */
  targets: Uint8Array;
  /** Length of the prompt in tokens. */
  promptLength: number;
}
