/** The scale of a stacked bar chart. */

const STEPS = [2, 4, 6, 8, 10];

/** Returns the next round number from `most` on; an even one, so that its half is whole too. */
export function scaleMaximum(most: number): number {
  const power = 10 ** Math.max(0, Math.ceil(Math.log10(Math.max(most, 1))) - 1);
  return power * (STEPS.find((step) => step * power >= most) ?? 10);
}

interface Part {
  n: number;
  /** Distance from the top. */
  y: number;
  height: number;
}

/** The parts of a bar, one for each count above 0, the first at the bottom. */
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
