/** Which of some names was probably meant by one that is mistyped. */

/** Undefined if none is near: at most a third of the letters are wrong, and three of them. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, distance: distanceOf(typed, name) }))
    .filter(
      ({ name, distance }) => distance <= Math.min(3, Math.max(typed.length, name.length) / 3),
    )
    .toSorted((a, b) => a.distance - b.distance);
  return best?.name;
}

/** How many letters are missing, too many, others, or swapped with the next. */
function distanceOf(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 3) return Number.POSITIVE_INFINITY;
  const [a, b] = [from.toLowerCase(), to.toLowerCase()];
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const at = (list: number[], index: number) => list[index] ?? Number.POSITIVE_INFINITY;
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? Number.POSITIVE_INFINITY;
}
