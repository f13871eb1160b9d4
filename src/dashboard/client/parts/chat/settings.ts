/** The settings of a chat, as they are typed. */
import type { Field } from "../../../../domain/schemas/input-form.ts";
import { readForm } from "../../../../domain/schemas/input-form-values.ts";
import { type ChatOptions, readTools } from "../../../playground/chat/input.ts";
import { controlName } from "../../../playground/control-names.ts";
import {
  attachSliders,
  type Control,
  requiredElement,
  setFieldError,
  textOf,
} from "../playground-form.ts";

export class Settings {
  readonly #form: HTMLFormElement;
  readonly #system: HTMLTextAreaElement;
  readonly #tools: HTMLTextAreaElement | null;
  readonly #fields: { field: Field; control: Control | null }[];

  constructor(root: HTMLElement, onChange: () => void) {
    const fields: Field[] = JSON.parse(root.dataset.fields ?? "[]");
    this.#form = requiredElement(root, "[data-settings]", HTMLFormElement);
    this.#system = requiredElement(root, "#chat-system", HTMLTextAreaElement);
    this.#tools = root.querySelector("#chat-tools");
    this.#fields = fields.map((field, n) => ({
      field,
      control: root.querySelector<Control>(`#${CSS.escape(controlName(field.kind, n))}`),
    }));
    this.#form.noValidate = true;
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("input", onChange);
    attachSliders(root);
    const example = root.querySelector<HTMLElement>("[data-example-tools]");
    example?.addEventListener("click", () => {
      if (!this.#tools) return;
      this.#tools.value = example.dataset.exampleTools ?? "";
      this.#tools.focus();
      onChange();
    });
  }

  get texts(): { system: string; tools: string } {
    return { system: this.#system.value, tools: this.#tools?.value ?? "" };
  }

  set texts({ system, tools }: { system: string; tools: string }) {
    this.#system.value = system;
    if (this.#tools) this.#tools.value = tools;
    for (const panel of this.#form.querySelectorAll<HTMLDetailsElement>("[data-tools-panel]"))
      panel.open = tools !== "";
  }

  /** Returns the settings; shows their errors and returns undefined if they have any. */
  read(): ChatOptions | undefined {
    const { input, faults } = readForm(
      this.#fields.map(({ field, control }) => ({
        ...field,
        text: control ? textOf(control) : "",
      })),
    );
    for (const { field, control } of this.#fields)
      if (control) setFieldError(control, faults.get(field.name));
    const read = readTools(this.#tools?.value ?? "");
    const fault = "fault" in read ? read.fault : undefined;
    if (this.#tools) setFieldError(this.#tools, fault);
    if (faults.size > 0 || "fault" in read) return undefined;
    return { system: this.#system.value, tools: read.tools, settings: input };
  }

  showFault(): void {
    const wrong = this.#form.querySelector<HTMLElement>('[aria-invalid="true"]');
    wrong?.closest("details")?.setAttribute("open", "");
    wrong?.focus();
  }
}

const NARROW = matchMedia("(max-width: 60rem)");

export function attachSides(root: HTMLElement): { showConversation: () => void } {
  const tabs = [...root.querySelectorAll<HTMLElement>("[data-tab]")];
  const mark = () => {
    const { side, narrow } = root.dataset;
    const current = NARROW.matches && narrow === "chat" ? "chat" : side;
    for (const tab of tabs) {
      if (tab.dataset.tab === current) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  };
  const show = (name = "chat") => {
    root.dataset.narrow = name === "chat" ? "chat" : "side";
    if (name !== "chat") root.dataset.side = name;
    mark();
  };
  for (const tab of tabs) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      show(tab.dataset.tab);
    });
  }
  NARROW.addEventListener("change", mark);
  mark();
  return { showConversation: () => show() };
}
