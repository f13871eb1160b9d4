/** A message of the model, or its reasoning. */
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";
import { type ItemContext, OutputItem } from "./response-item.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "./response-json.ts";
import { logprobsOf, Part, type PartKind } from "./response-part.ts";

export class TextItem extends OutputItem {
  readonly type: "message" | "reasoning";
  readonly #parts: Part[] = [];
  /** The last part, while it is open. */
  #part: Part | undefined;
  /** Fields other than the content. */
  #rest: Fields;

  constructor(context: ItemContext, type: "message" | "reasoning") {
    super(context);
    this.type = type;
    this.#rest = type === "message" ? { role: "assistant" } : { summary: [] };
  }

  get value(): ResponseItem {
    const { id, type, status } = this;
    return { id, type, status, ...this.#rest, content: this.#parts.map((part) => part.value) };
  }

  /** Continues the open part if it is of that kind, or begins a new one. */
  append(kind: PartKind, delta: string, logprobs: Json[] = []): void {
    if (delta === "") return;
    if (this.#part?.kind !== kind) this.beginPart(kind);
    this.#part?.add(delta, logprobs);
    this.#tellOfPart(
      `response.${kind}.delta`,
      kind === "output_text" ? { delta, logprobs } : { delta },
    );
  }

  beginPart(kind: PartKind): void {
    this.endPart();
    this.#part = new Part(kind);
    this.#parts.push(this.#part);
    this.#tellOfPart("response.content_part.added", { part: this.#part.value });
  }

  endPart(): void {
    const part = this.#part;
    if (!part) return;
    this.#tellOfPart(`response.${part.kind}.done`, part.ending);
    this.#tellOfPart("response.content_part.done", { part: part.value });
    this.#part = undefined;
  }

  annotate(told: Json | undefined): void {
    if (!this.#part || !isFields(told)) return;
    const annotation = withoutNulls(told);
    const annotation_index = this.#part.annotations.push(annotation) - 1;
    this.#tellOfPart("response.output_text.annotation.added", { annotation_index, annotation });
  }

  /** Emits the complete open part, unless it was emitted in pieces. */
  completePart(part: Fields): void {
    if (!this.#part) return;
    if (this.#part.isEmpty) this.append(this.#part.kind, partText(part), logprobsOf(part.logprobs));
    if (this.#part.annotations.length > 0) return;
    for (const one of listOf(part.annotations)) this.annotate(one);
  }

  complete(item: Fields): void {
    const parts = listOf(item.content).map(fieldsOf);
    if (this.#parts.length > 0) this.completePart(fieldsOf(parts[this.#parts.length - 1]));
    else {
      for (const part of parts) {
        this.beginPart(this.kindOf(part.type));
        this.completePart(part);
      }
    }
    this.#rest = { ...this.#rest, ...this.#besides(item) };
  }

  kindOf(type: Json | undefined): PartKind {
    if (this.type === "reasoning") return "reasoning_text";
    return type === "refusal" ? "refusal" : "output_text";
  }

  protected end(): void {
    this.endPart();
  }

  #besides({ phase, summary, encrypted_content }: Fields): Fields {
    if (this.type === "message") {
      return phase === "commentary" || phase === "final_answer" ? { phase } : {};
    }
    const sealed = textOf(encrypted_content);
    return {
      summary: listOf(summary).map((one) => ({
        type: "summary_text",
        text: textOf(fieldsOf(one).text),
      })),
      ...(sealed && { encrypted_content: sealed }),
    };
  }

  #tellOfPart(type: string, fields: Fields): void {
    this.emitOwn(type, { content_index: this.#parts.length - 1, ...fields });
  }
}

/** Returns the text of a part, whose field is named by its kind. */
export const partText = ({ text, refusal }: Fields) => textOf(text) || textOf(refusal);
