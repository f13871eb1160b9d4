/** A call of a tool that the model asks for: of a function, or of a custom tool. */
import type { ResponseItem } from "../../protocol/vendora/response.ts";
import { customInputOf } from "./plain-tools.ts";
import { OutputItem, type Place } from "./response-item.ts";
import { type Fields, textOf } from "./response-json.ts";
import type { CallerTool, ToolNames } from "./tool-names.ts";

const CALLS = { function: "function_call", custom: "custom_tool_call" } as const;

export class CallItem extends OutputItem {
  readonly type: (typeof CALLS)[keyof typeof CALLS];
  readonly #callId: string;
  readonly #names: ToolNames;
  #tool: Pick<CallerTool, "namespace" | "name">;
  readonly #pieces: string[] = [];

  /** @param name what the container calls the tool */
  constructor(place: Place, callId: string, name: string, names: ToolNames) {
    super(place);
    const tool = names.called(name);
    this.type = CALLS[tool?.type ?? "function"];
    this.#callId = callId;
    this.#names = names;
    this.#tool = tool ?? { namespace: undefined, name };
  }

  override get said(): string {
    return CALLS.function;
  }

  get value(): ResponseItem {
    const { id, type, status } = this;
    const { namespace, name } = this.#tool;
    const tool = { ...(namespace !== undefined && { namespace }), name };
    return { id, type, status, call_id: this.#callId, ...tool, ...this.#given };
  }

  /** Continues the arguments. What a custom tool is given can be told once it is whole. */
  say(delta: string): void {
    if (delta === "") return;
    this.#pieces.push(delta);
    if (this.type === CALLS.function)
      this.tell("response.function_call_arguments.delta", { delta });
  }

  complete({ name, arguments: args }: Fields): void {
    if (this.#tool.name === "") {
      this.#tool = this.#names.called(textOf(name)) ?? { namespace: undefined, name: textOf(name) };
    }
    if (this.#pieces.length === 0) this.say(textOf(args));
  }

  protected end(): void {
    const given = this.#given;
    if (this.type === CALLS.function) {
      this.tell("response.function_call_arguments.done", { name: this.#tool.name, ...given });
      return;
    }
    if (given.input) this.tell("response.custom_tool_call_input.delta", { delta: given.input });
    this.tell("response.custom_tool_call_input.done", given);
  }

  get #given(): Fields & { input?: string } {
    const args = this.#pieces.join("");
    return this.type === CALLS.function ? { arguments: args } : { input: customInputOf(args) };
  }
}
