/** Reads a model's answer from the outputs of its prediction, whichever convention they follow. */
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";
import type { ToolCall, Usage } from "./conversation.ts";

type Part = { [key: string]: Json };

/** Ends that cut an answer short, as the conventions call them. */
const CUT = ["length", "max_tokens", "max_output_tokens"];

/** The most calls of an answer. Each has a form, and 100,000 forms would freeze the tab. */
const MAX_CALLS = 128;

export class Reply {
  text = "";
  reasoning = "";
  isCut = false;
  readonly usage: Usage = {};
  readonly #calls = new Map<string, ToolCall>();

  get calls(): ToolCall[] {
    return [...this.#calls.values()];
  }

  get isEmpty(): boolean {
    return this.text === "" && this.reasoning === "" && this.#calls.size === 0;
  }

  take(output: Json): void {
    if (typeof output === "string") this.text += output;
    else if (Array.isArray(output)) for (const one of output) this.take(one);
    else if (isObject(output)) this.#object(output);
    else if (output !== null) this.text += String(output);
  }

  /** Takes the token counts from the prediction's metrics, whatever the model's interface. */
  count(metrics: Json): void {
    const { input_tokens, output_tokens } = partOf(metrics);
    if (typeof input_tokens === "number") this.usage.input = input_tokens;
    if (typeof output_tokens === "number") this.usage.output = output_tokens;
  }

  #object(value: Part): void {
    const { type } = value;
    if (Array.isArray(value.choices)) this.#chat(value.choices, value);
    else if (value.object === "response") this.#response(value);
    else if (typeof type !== "string") this.text += JSON.stringify(value);
    else if (type.startsWith("response.")) this.#responseEvent(type, value);
    else this.#messageEvent(type, value);
  }

  /** Reads one answer: the first of several choices. */
  #chat(choices: Json[], { usage }: Part): void {
    const { prompt_tokens, completion_tokens } = partOf(usage);
    this.count({ input_tokens: prompt_tokens ?? null, output_tokens: completion_tokens ?? null });
    const choice = choices.map(partOf).find(({ index = 0 }) => index === 0);
    if (!choice) return;
    const said = partOf(choice.delta ?? choice.message);
    this.reasoning += textIn(said.reasoning_content ?? said.reasoning);
    this.text += textIn(said.content) + textIn(said.refusal);
    for (const [n, call] of listIn(said.tool_calls).map(partOf).entries()) {
      const { name, arguments: json } = partOf(call.function);
      this.#call(String(call.index ?? n), textIn(call.id), textIn(name), textIn(json));
    }
    this.#end(choice.finish_reason);
  }

  #responseEvent(type: string, event: Part): void {
    const { item, response, output_index } = event;
    const at = String(output_index);
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        this.text += textIn(event.delta);
        return;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        this.reasoning += textIn(event.delta);
        return;
      case "response.output_item.added":
      case "response.output_item.done":
        return this.#item(at, partOf(item));
      case "response.function_call_arguments.delta":
        return this.#call(at, "", "", textIn(event.delta));
      case "response.completed":
      case "response.incomplete":
        return this.#response(partOf(response));
    }
  }

  /** A whole response: its text counts unless it has come in pieces. */
  #response({ output, usage, incomplete_details }: Part): void {
    this.count(usage ?? null);
    this.#end(partOf(incomplete_details).reason);
    const isStreamed = !this.isEmpty;
    for (const [n, item] of listIn(output).map(partOf).entries()) {
      this.#item(String(n), item);
      if (!isStreamed && item.type === "message") this.text += textIn(item.content);
      if (!isStreamed && item.type === "reasoning")
        this.reasoning += textIn(item.content) || textIn(item.summary);
    }
  }

  #item(at: string, { type, call_id, name, arguments: json }: Part): void {
    if (type !== "function_call") return;
    const call = this.#callAt(at);
    call.id = textIn(call_id) || call.id;
    call.name = textIn(name) || call.name;
    call.arguments = textIn(json) || call.arguments;
  }

  #messageEvent(type: string, event: Part): void {
    const at = String(event.index);
    const delta = partOf(event.delta);
    switch (type) {
      case "message_start":
        return this.#message(partOf(event.message));
      case "message":
        return this.#message(event);
      case "content_block_start":
        return this.#block(at, partOf(event.content_block));
      case "content_block_delta":
        this.text += textIn(delta.text);
        this.reasoning += textIn(delta.thinking);
        if (delta.type === "input_json_delta") this.#call(at, "", "", textIn(delta.partial_json));
        return;
      case "message_delta":
        this.count(event.usage ?? null);
        return this.#end(delta.stop_reason);
    }
  }

  #message({ content, usage, stop_reason }: Part): void {
    this.count(usage ?? null);
    this.#end(stop_reason);
    for (const [n, block] of listIn(content).map(partOf).entries()) this.#block(String(n), block);
  }

  #block(at: string, { type, text, thinking, id, name, input }: Part): void {
    this.text += textIn(text);
    this.reasoning += textIn(thinking);
    if (type !== "tool_use") return;
    // A stream first sends an empty input, and then the input in pieces.
    const whole = Object.keys(partOf(input)).length > 0 ? JSON.stringify(input) : "";
    this.#call(at, textIn(id), textIn(name), whole);
  }

  #call(at: string, id: string, name: string, json: string): void {
    const call = this.#callAt(at);
    call.id ||= id;
    call.name ||= name;
    call.arguments += json;
  }

  /** Returns the call at `at`; beyond `MAX_CALLS` it is one that is not shown. */
  #callAt(at: string): ToolCall {
    const call = this.#calls.get(at) ?? { id: "", name: "", arguments: "" };
    if (this.#calls.size < MAX_CALLS) this.#calls.set(at, call);
    return call;
  }

  #end(reason: Json | undefined): void {
    this.isCut ||= typeof reason === "string" && CUT.includes(reason);
  }
}

const partOf = (value: Json | undefined): Part => (isObject(value) ? value : {});
const listIn = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

function textIn(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return listIn(value)
    .map((one) => textIn(partOf(one).text ?? partOf(one).refusal))
    .join("");
}
