/** The settings of a chat, as they are typed. */
import type { Field } from "../../../../domain/schemas/input-form.ts";
import { readForm } from "../../../../domain/schemas/input-form-values.ts";
import type { ChatOptions } from "../../../playground/chat/input.ts";
import { readTools } from "../../../playground/chat/input.ts";
import { controlName } from "../../../playground/control-names.ts";
import { setFieldError } from "../field-error.ts";
import { requiredElement } from "../playground-form.ts";
import { attachSliders } from "../sliders.ts";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

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

  /** The texts that are kept with the conversation. */
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
      this.#fields.map(({ field, control }) => ({ ...field, text: textOf(control) })),
    );
    for (const { field, control } of this.#fields)
      if (control) setFieldError(control, faults.get(field.name));
    const read = readTools(this.#tools?.value ?? "");
    const fault = "fault" in read ? read.fault : undefined;
    if (this.#tools) setFieldError(this.#tools, fault);
    if (faults.size > 0 || "fault" in read) return undefined;
    return { system: this.#system.value, tools: read.tools, settings: input };
  }

  /** Unfolds and focuses the first control with an error. */
  showFault(): void {
    const wrong = this.#form.querySelector<HTMLElement>('[aria-invalid="true"]');
    wrong?.closest("details")?.setAttribute("open", "");
    wrong?.focus();
  }
}

function textOf(control: Control | null): string {
  if (!control) return "";
  const isBox = control instanceof HTMLInputElement && control.type === "checkbox";
  if (isBox) return control.checked ? "true" : "";
  return control.value;
}
