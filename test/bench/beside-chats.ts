/**
 * Messages, which are translated from the chat of their container, and completions through the service, next
 * to the same tokens as a chat: in turn, on the same machine.
 */
import type { Bed } from "./bed.ts";
import { chatOf, completionsOf, messagesOf } from "./chat-reader.ts";
import type { Effort } from "./effort.ts";
import { inTurn } from "./openai.ts";
import { ms, perSecond, type Table, times, type Verdict } from "./table.ts";

const STREAMS = [1, 32] as const;
/** Tokens of each stream, which come as fast as the container can: the test measures the cost of a token. */
const TOKENS = 2_000;
/** Messages and completions may cost as much as chats, within the differences between rounds. */
const LEAST_AT_32 = 0.9;
const CALLS = { messages: messagesOf, completions: completionsOf };

export async function measureBesideChats(bed: Bed, effort: Effort): Promise<Table> {
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  const asked = { per_second: 0, max_tokens: TOKENS };
  for (const [name, callOf] of Object.entries(CALLS)) {
    for (const streams of STREAMS) {
      const sources = [callOf(bed), chatOf(bed)] as const;
      const [calls, chats] = await inTurn(sources, streams, asked, effort);
      const share = calls.rate / chats.rate;
      rows.push([
        name,
        String(streams),
        ms(calls.first),
        ms(chats.first),
        perSecond(calls.rate),
        perSecond(chats.rate),
        times(share),
      ]);
      if (streams === 32) {
        const what = `tokens of ${name} to 32 streams, of those of chats`;
        verdicts.push({ what, value: share, bound: { least: LEAST_AT_32 } });
      }
    }
  }
  return {
    title: "Messages and completions through the service, and the same as chat completions",
    head: ["call", "streams", "first token", "chat", "tokens", "chat", "ratio"],
    rows,
    notes: ["as fast as it can: no model is so fast; the least that each token costs on the way"],
    verdicts,
  };
}
