/**
 * Names, in keys and URLs, of the files that come with a request. The names of outputs begin with random
 * digits.
 */

/** How a file came: inside the JSON, in a form, or with an earlier prediction whose input is sent again. */
type Way = "data" | "form" | "earlier";

/** @param rest the end of the name: an extension, or a hyphen and a name */
export const sentName = (way: Way, number: number, rest: string): string =>
  `${way}-${number}${rest}`;

/** Whether a file of a prediction came with its request: its name can be guessed. */
export const isSentName = (name: string): boolean => /^(?:data|form|earlier)-\d/.test(name);
