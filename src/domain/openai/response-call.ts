/** A tool call of the model: of a function, or of a custom tool. */
import type { ResponseItem } from "../../protocol/openai/response.ts";
import { customInputOf } from "./plain-tools.ts";
import { type ItemContext, OutputItem } from "./response-item.ts";
import { type Fields, textOf } from "./response-json.ts";
import type { CallerTool, ToolNames } from "./tool-names.ts";

const CALLS = { function: "function_call", custom: "custom_tool_call" } as const;

export class CallItem extends OutputItem {
  readonly type: (typeof CALLS)[keyof typeof CALLS];
  readonly #callId: string;
  readonly #names: ToolNames;
  #tool: Pick<CallerTool, "namespace" | "name">;
  readonly #pieces: string[] = [];

  /** @param name of the tool in the container */
  constructor(context: ItemContext, callId: string, name: string, names: ToolNames) {
    super(context);
    const tool = names.called(name);
    this.type = CALLS[tool?.type ?? "function"];
    this.#callId = callId;
    this.#names = names;
    this.#tool = tool ?? { namespace: undefined, name };
  }

  override get containerType(): string {
    return CALLS.function;
  }

  get value(): ResponseItem {
    const { id, type, status } = this;
    const { namespace, name } = this.#tool;
    const tool = { ...(namespace !== undefined && { namespace }), name };
    return { id, type, status, call_id: this.#callId, ...tool, ...this.#given };
  }

  /** Continues the arguments. The input of a custom tool can only be emitted when it is complete. */
  append(delta: string): void {
    if (delta === "") return;
    this.#pieces.push(delta);
    if (this.type === CALLS.function)
      this.emitOwn("response.function_call_arguments.delta", { delta });
  }

  complete({ name, arguments: args }: Fields): void {
    if (this.#tool.name === "") {
      this.#tool = this.#names.called(textOf(name)) ?? { namespace: undefined, name: textOf(name) };
    }
    if (this.#pieces.length === 0) this.append(textOf(args));
  }

  protected end(): void {
    const given = this.#given;
    if (this.type === CALLS.function) {
      this.emitOwn("response.function_call_arguments.done", { name: this.#tool.name, ...given });
      return;
    }
    if (given.input) this.emitOwn("response.custom_tool_call_input.delta", { delta: given.input });
    this.emitOwn("response.custom_tool_call_input.done", given);
  }

  get #given(): Fields & { input?: string } {
    const args = this.#pieces.join("");
    return this.type === CALLS.function ? { arguments: args } : { input: customInputOf(args) };
  }
}
