/** Ids of webhook events. Each consists of the prediction and the event, so it is unique. */

export const eventId = (predictionId: string, sequence: number) =>
  `evt_${predictionId}_${sequence}`;

/** Returns the sequence in an id; undefined for an id of another prediction. */
export function sequenceOf(id: string, predictionId: string): number | undefined {
  const prefix = `evt_${predictionId}_`;
  return id.startsWith(prefix) ? Number(id.slice(prefix.length)) : undefined;
}
