/** Ids of the vendorb convention: a prefix for the type, and the prediction's id. */

export const messageIdOf = (predictionId: string) => `msg_${predictionId.replaceAll("-", "")}`;
