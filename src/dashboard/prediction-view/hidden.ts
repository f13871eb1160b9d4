/**
 * What a log says that is not shown from its beginning.
 * @param lines that are not there
 * @param torn whether the first that is there has lost its beginning
 */
export function hiddenText(lines: number, torn: boolean): string {
  const whole = lines === 1 ? "1 earlier line" : `${lines} earlier lines`;
  const what = torn && lines === 0 ? "The beginning of this line" : whole;
  const and = torn && lines > 0 ? " and the beginning of the next" : "";
  const are = lines > 1 || and ? "are" : "is";
  return `${what}${and} ${are} not shown here: the stream of the API has all of it.`;
}
