/** What the controls of a playground are called: on the page, in the form that is sent, to client code. */
import type { FieldKind } from "../../domain/schemas/input-form.ts";

/** Of the form where all is JSON. */
export const JSON_FIELD = "input";

/** The version to change to, and the button that asks for that. */
export const VERSION_FIELD = "show";
export const SWITCH_BUTTON = "shown";

/** Says how its text is to be read: a value that its field cannot hold is shown as JSON. */
export const controlName = (kind: FieldKind, n: number) => `${kind}-${n}`;
