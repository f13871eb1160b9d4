/** Control names of the playground, shared by pages, handlers and client code. */
import type { FieldKind } from "../../domain/schemas/input-form.ts";

export const JSON_FIELD = "input";

export const VERSION_FIELD = "select-version";
/** The username of the account that runs the model, and pays. */
export const RUN_AS_FIELD = "run-as";
export const SWITCH_BUTTON = "switch";

/** Includes the kind: a value that its field cannot hold is edited as JSON. */
export const controlName = (kind: FieldKind, n: number) => `${kind}-${n}`;

/** Returns the address of a run in the playground. `asForm`: in the form, not in the version's own view. */
export const runAddress = (playground: string, id: string, asForm: boolean) =>
  `${playground}?prediction=${id}${asForm ? "&view=form" : ""}`;
