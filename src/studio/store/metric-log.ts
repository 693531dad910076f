/**
 * Metrics of a run as columns of numbers, one row a step. Columns are typed arrays that only grow; a row that lacks a
 * metric has NaN there, which charts draw as a gap.
 */
export class MetricLog {
  /** Rows written. */
  length = 0;
  private readonly columns = new Map<string, Float64Array>();
  private capacity = 256;

  append(row: Readonly<Record<string, number | undefined>>): void {
    if (this.length === this.capacity) this.grow();
    for (const [name, value] of Object.entries(row)) {
      let column = this.columns.get(name);
      if (!column) {
        column = new Float64Array(this.capacity).fill(Number.NaN);
        this.columns.set(name, column);
      }
      column[this.length] = value ?? Number.NaN;
    }
    this.length++;
  }

  /** Takes the last row back: the run returned to a step before it. */
  dropLast(): void {
    this.length--;
    for (const column of this.columns.values()) column[this.length] = Number.NaN;
  }

  private grow(): void {
    this.capacity *= 2;
    for (const [name, column] of this.columns) {
      const larger = new Float64Array(this.capacity).fill(Number.NaN);
      larger.set(column);
      this.columns.set(name, larger);
    }
  }

  /** The values so far; all NaN for a metric that no row has. */
  column(name: string): Float64Array {
    return this.columns.get(name)?.subarray(0, this.length) ?? new Float64Array(this.length).fill(Number.NaN);
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  last(name: string): number {
    return this.length === 0 ? Number.NaN : (this.columns.get(name)?.[this.length - 1] ?? Number.NaN);
  }
}
