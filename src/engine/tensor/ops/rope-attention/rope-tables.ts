/** Rotation tables, made in double precision because WGSL's sin and cos promise only 2⁻¹¹: cos and sin, each (P, D/2). */
export function ropeTableValues(
  maxPositions: number,
  D: number,
  theta: number,
): { cos: Float32Array; sin: Float32Array } {
  const half = D / 2;
  const cos = new Float32Array(maxPositions * half);
  const sin = new Float32Array(maxPositions * half);
  for (let p = 0; p < maxPositions; p++)
    for (let i = 0; i < half; i++) {
      const angle = p * theta ** ((-2 * i) / D);
      cos[p * half + i] = Math.cos(angle);
      sin[p * half + i] = Math.sin(angle);
    }
  return { cos, sin };
}
