/** The scale of a chart: where it ends, and where its bars lie. */

const STEPS = [2, 4, 6, 8, 10];

/** An even number, so that half of it is whole, not below `most`, and one that is easily read. */
export function ceilingOf(most: number): number {
  const power = 10 ** Math.max(0, Math.ceil(Math.log10(Math.max(most, 1))) - 1);
  return power * (STEPS.find((step) => step * power >= most) ?? 10);
}

interface Part {
  /** Which of the counts it stands for. */
  n: number;
  /** From the top, of `height`. */
  y: number;
  height: number;
}

/** A bar of one part for each count that is not 0, the first at the bottom. */
export function stack(counts: number[], ceiling: number, height: number): Part[] {
  let below = 0;
  return counts.flatMap((count, n) => {
    if (count === 0) return [];
    const top = below + count;
    const part = {
      n,
      y: rounded(height * (1 - top / ceiling)),
      height: rounded((height * count) / ceiling),
    };
    below = top;
    return part;
  });
}

const rounded = (value: number) => Math.round(value * 100) / 100;
