/** Events of a prediction's log in Replicate's format, whose data are plain texts. */
import { z } from "zod";
import { predictionError, taskStatus } from "../../protocol/prediction.ts";

const ended = z.object({ status: taskStatus });

/**
 * Returns an event of Replicate's stream; empty for an entry that it does not show.
 * @param data JSON text
 */
export function replicateEvent(id: string, event: string, data: string): string {
  switch (event) {
    case "output":
    case "logs":
      return data === "null" ? "" : eventOf(id, event, textOf(data));
    case "error": {
      const { message } = predictionError.parse(JSON.parse(data));
      return eventOf(id, event, JSON.stringify({ detail: message }));
    }
    case "done": {
      const { status } = ended.parse(JSON.parse(data));
      const reason = status === "failed" ? "error" : status;
      return eventOf(id, event, JSON.stringify(status === "succeeded" ? {} : { reason }));
    }
    default:
      return "";
  }
}

/** Returns the event for a stream that the service ends, which has no ID to resume after. */
export const replicateErrorEvent = (detail: string) =>
  `event: error\ndata: ${JSON.stringify({ detail })}\n\n`;

/** Returns a string itself, and any other value as JSON. */
const textOf = (data: string): string =>
  data.startsWith('"') ? z.string().parse(JSON.parse(data)) : data;

/** Clients drop an event without data. */
function eventOf(id: string, event: string, text: string): string {
  if (text === "") return "";
  const lines = text.split(/\r\n|\n|\r/).map((line) => `data: ${line}\n`);
  return `id: ${id}\nevent: ${event}\n${lines.join("")}\n`;
}
