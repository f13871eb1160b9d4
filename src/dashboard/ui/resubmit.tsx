/** A form whose session has ended: its values are kept so that it can be submitted again. */
import { FORM_TOKEN_FIELD } from "../access.ts";
import type { PageContext } from "../context.ts";
import { isForm, readForm } from "../form.ts";
import { Form } from "./layout.tsx";

/** Never echoed back into a page. */
const SECRET_FIELD = /password|secret|token|^value$/i;

export interface Resubmission {
  fields: [name: string, text: string][];
  /** Fields that must be entered again: secrets and files. */
  omitted: string[];
}

/** @returns undefined when the form has no value worth keeping */
export async function resubmissionOf(c: PageContext): Promise<Resubmission | undefined> {
  if (!isForm(c.req.header("content-type"))) return undefined;
  const resubmission: Resubmission = { fields: [], omitted: [] };
  for (const [name, value] of await readForm(c)) {
    if (name === FORM_TOKEN_FIELD) continue;
    if (typeof value === "string" && !SECRET_FIELD.test(name))
      resubmission.fields.push([name, value]);
    else if (typeof value === "string" ? value !== "" : value.size > 0)
      resubmission.omitted.push(name);
  }
  return resubmission.fields.some(([, text]) => text !== "") ? resubmission : undefined;
}

/** @param action path and query of the form */
export const ResubmitPage = ({
  resubmission: { fields, omitted },
  action,
  username,
}: {
  resubmission: Resubmission;
  action: string;
  username: string | undefined;
}) => (
  <div class="box empty">
    <h1>{username === undefined ? "You are logged out" : "Submit again?"}</h1>
    {username === undefined ? (
      <p>
        Your changes are kept on this page.{" "}
        <a href="/sign-in" target="_blank" rel="noopener">
          Log in
        </a>{" "}
        in another tab, then come back and submit.
      </p>
    ) : (
      <p>
        You logged in after this form was loaded. Your changes are still here and will be submitted
        as <strong>{username}</strong>.
      </p>
    )}
    {omitted.length > 0 && (
      <p class="hint">Not kept. Enter again afterwards: {omitted.join(", ")}.</p>
    )}
    <Form action={action}>
      {fields.map(([name, text]) => (
        <input type="hidden" name={name} value={text} />
      ))}
      <button type="submit" class="primary">
        Submit
      </button>
    </Form>
    <details>
      <summary>Show what will be submitted</summary>
      <dl>
        {fields
          .filter(([, text]) => text !== "")
          .map(([name, text]) => (
            <div>
              <dt>{name.replaceAll("_", " ")}</dt>
              <dd>
                <pre tabindex={0}>{text}</pre>
              </dd>
            </div>
          ))}
      </dl>
    </details>
  </div>
);
