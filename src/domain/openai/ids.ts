/** Ids of the OpenAI convention: a prefix for the type, and the prediction's id. */

export const chatIdOf = (predictionId: string) => `chatcmpl-${hexOf(predictionId)}`;
export const completionIdOf = (predictionId: string) => `cmpl-${hexOf(predictionId)}`;
export const moderationIdOf = (predictionId: string) => `modr-${hexOf(predictionId)}`;
export const rankingIdOf = (predictionId: string) => `rerank-${hexOf(predictionId)}`;
export const responseIdOf = (predictionId: string) => `resp_${hexOf(predictionId)}`;

/** Returns the id of a response's prediction; undefined when it is no response id. */
export function predictionIdOf(responseId: string): string | undefined {
  const [, hex] = /^resp_([0-9a-f]{32})$/.exec(responseId) ?? [];
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Returns the response that an item belongs to, by the item's id; undefined for an id that Auspex has not
 * made.
 */
export function responseIdIn(itemId: string): string | undefined {
  const [, hex] = /^[a-z_]+_([0-9a-f]{32})_\d{1,6}$/.exec(itemId) ?? [];
  return hex && `resp_${hex}`;
}

const hexOf = (uuid: string) => uuid.replaceAll("-", "");
