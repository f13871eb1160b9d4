/**
 * Decoders of event streams by the rules of the clients that read them, which differ in the events that a
 * blank line ends.
 */

export interface DecodedEvent {
  event: string;
  data: string;
}

interface Fields {
  event: string;
  data: string[];
  id: string;
  hasRetry: boolean;
}

/** Whether a blank line dispatches an event. */
const RULES = {
  /**
   * anthropic-python and httpx-sse have this rule, too: an id is never forgotten, so every later blank line
   * is an event.
   */
  "openai-python": ({ event, data, id, hasRetry }: Fields) =>
    event !== "" || data.length > 0 || id !== "" || hasRetry,
  /** `openai` and `@anthropic-ai/sdk` have this rule. */
  "the JS SDKs": ({ event, data }: Fields) => event !== "" || data.length > 0,
  /** Browsers have this rule, and eventsource-parser, which the AI SDK uses. */
  EventSource: ({ data }: Fields) => data.length > 0,
};

export const DECODERS = Object.keys(RULES);

/** @param name one of DECODERS */
export function decodedBy(name: string, text: string): DecodedEvent[] {
  const isDispatched = Object.entries(RULES).find(([one]) => one === name)?.[1];
  if (!isDispatched) throw new Error(`There is no decoder '${name}'.`);
  const events: DecodedEvent[] = [];
  let fields: Fields = { event: "", data: [], id: "", hasRetry: false };
  for (const line of text.split(/\r\n|\r|\n/).slice(0, -1)) {
    if (line === "") {
      if (isDispatched(fields)) events.push({ event: fields.event, data: fields.data.join("\n") });
      fields = { event: "", data: [], id: fields.id, hasRetry: false };
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === "event") fields.event = value;
    if (name === "data") fields.data.push(value);
    if (name === "id") fields.id = value;
    if (name === "retry") fields.hasRetry = true;
  }
  return events;
}
