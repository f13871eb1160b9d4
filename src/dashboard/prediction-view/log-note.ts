/**
 * The note above a log that is not shown from its beginning.
 * @param lines how many whole lines are missing
 * @param torn whether the first line that is shown has lost its beginning
 */
export function logNote(lines: number, torn: boolean): string {
  return `${subject(lines, torn)} not shown. Download the log to read all of it.`;
}

function subject(lines: number, torn: boolean): string {
  if (torn && lines === 0) return "The beginning of this line is";
  const whole = lines === 1 ? "1 earlier line" : `${lines} earlier lines`;
  if (torn) return `${whole} and the beginning of the next are`;
  return `${whole} ${lines === 1 ? "is" : "are"}`;
}
