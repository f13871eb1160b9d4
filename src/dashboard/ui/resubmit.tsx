/** A form that came without its session: what was typed is kept, to be sent once more. */
import { FORM_TOKEN_FIELD } from "../access.ts";
import type { PageContext } from "../context.ts";
import { isForm, readForm } from "../form.ts";
import { Form } from "./layout.tsx";

/** What a page shows to nobody, not even to who has typed it. */
const SECRET_FIELD = /password|secret|token|^value$/i;

export interface Resubmission {
  fields: [name: string, text: string][];
  /** The names of those that have to be filled in again. */
  omitted: string[];
}

/**
 * What of the form of a request can be sent once more.
 * @returns undefined where there is nothing that would be missed
 */
export async function resubmissionOf(c: PageContext): Promise<Resubmission | undefined> {
  if (!isForm(c.req.header("content-type"))) return undefined;
  const kept: Resubmission = { fields: [], omitted: [] };
  for (const [name, value] of await readForm(c)) {
    if (name === FORM_TOKEN_FIELD) continue;
    if (typeof value === "string" && !SECRET_FIELD.test(name)) kept.fields.push([name, value]);
    else if (typeof value === "string" ? value !== "" : value.size > 0) kept.omitted.push(name);
  }
  return kept.fields.some(([, text]) => text !== "") ? kept : undefined;
}

/** @param action its address, with its query */
export const ResubmitPage = ({
  kept: { fields, omitted },
  action,
  username,
}: {
  kept: Resubmission;
  action: string;
  username: string | undefined;
}) => (
  <div class="empty">
    <h1>{username === undefined ? "You are signed out" : "Submit again?"}</h1>
    {username === undefined ? (
      <p>
        Your changes are kept on this page.{" "}
        <a href="/sign-in" target="_blank" rel="noopener">
          Sign in in another tab
        </a>
        , then come back and submit.
      </p>
    ) : (
      <p>
        You signed in after this form was loaded. Your changes are still here and will be submitted
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
