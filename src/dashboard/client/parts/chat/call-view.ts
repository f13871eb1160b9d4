/** A call of a tool: its name and arguments, and a place for its result. */
import type { ToolCall } from "../../../playground/chat/conversation.ts";
import { element } from "../element.ts";

/** Of arguments: what is longer is drawn again with each piece that comes, which would freeze the tab. */
const SHOWN_CHARS = 20_000;

let count = 0;

export class CallView {
  readonly root = element("section", "call");
  readonly #name = element("code", "");
  readonly #arguments = element("code", "");
  readonly #result = element("pre", "call-result");
  readonly #form = element("form", "call-form");

  constructor(give: (result: string) => void) {
    const box = element("pre", "", this.#arguments);
    box.tabIndex = 0;
    this.#result.tabIndex = 0;
    this.#addForm(give);
    this.root.ariaLabel = "Call of a tool";
    this.root.append(
      element("p", "call-name", "Calls ", this.#name),
      box,
      this.#form,
      this.#result,
    );
  }

  /** @param isWhole whether the model has said all of it */
  update({ name, arguments: json, result }: ToolCall, isWhole: boolean): void {
    if (this.#name.textContent !== name) this.#name.textContent = name;
    const text = shown(json, isWhole);
    if (this.#arguments.textContent !== text) this.#arguments.textContent = text;
    this.#form.hidden = !isWhole || result !== undefined;
    this.#result.hidden = result === undefined;
    this.#result.textContent = result ?? "";
  }

  #addForm(give: (result: string) => void): void {
    count += 1;
    const label = element("label", "", "Result to give to the model");
    const field = element("textarea", "code");
    field.id = `call-result-${count}`;
    field.rows = 2;
    field.placeholder = '{"temperature": 21}';
    label.htmlFor = field.id;
    const send = element("button", "quiet", "Give result");
    send.type = "submit";
    this.#form.append(label, field, send);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      give(field.value);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
  }
}

/** All of it is given to the model. */
function shown(json: string, isWhole: boolean): string {
  if (json.length > SHOWN_CHARS) return `${json.slice(0, SHOWN_CHARS)}…`;
  return isWhole ? readable(json) : json;
}

function readable(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json || "{}"), null, 2);
  } catch {
    return json;
  }
}
