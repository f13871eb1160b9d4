/** Ids of the Anthropic convention: a prefix for the type, and the prediction's id. */

export const messageIdOf = (predictionId: string) => `msg_${predictionId.replaceAll("-", "")}`;
