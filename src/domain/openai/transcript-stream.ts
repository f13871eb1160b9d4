/** A prediction's log as the convention's events of a transcript. */
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { prediction } from "../../protocol/prediction.ts";
import { valuesIn } from "./output-values.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "./response-json.ts";
import { transcriptOf } from "./transcript.ts";
import type { LogEntry, Translation } from "./translation.ts";

const DELTA = "transcript.text.delta";
const DONE = "transcript.text.done";

export class TranscriptStream implements Translation {
  #text = "";
  #isDone = false;

  /** @throws TranslationFailed */
  take({ event, data }: LogEntry): Fields[] {
    if (event === "output") return [...valuesIn(data)].flatMap((value) => this.#take(value));
    return event === "done" && !this.#isDone ? [this.#end(data)] : [];
  }

  #take(value: Json): Fields[] {
    if (isFields(value) && textOf(value.type).startsWith("transcript.")) {
      this.#text += value.type === DELTA ? textOf(value.delta) : "";
      this.#isDone ||= value.type === DONE;
      return [withoutNulls(value)];
    }
    const delta = deltaOf(value);
    if (delta === "") return [];
    this.#text += delta;
    return [{ type: DELTA, delta }];
  }

  #end(data: Json): Fields {
    const { metrics } = prediction.parse(data);
    const { input_tokens: input, output_tokens: output } = metrics ?? {};
    const usage = input !== undefined &&
      output !== undefined && {
        usage: {
          type: "tokens",
          input_tokens: input,
          output_tokens: output,
          total_tokens: input + output,
        },
      };
    return { type: DONE, text: this.#text, ...usage };
  }
}

/** Returns the text of a chunk: vLLM streams transcripts as it does chats. */
function deltaOf(value: Json): string {
  if (typeof value === "string") return value;
  if (isFields(value) && Array.isArray(value.choices))
    return listOf(value.choices)
      .map((choice) => textOf(fieldsOf(fieldsOf(choice).delta).content))
      .join("");
  return transcriptOf([value], false).text;
}
