/** The form for a new token, and the new token, shown once. */
import { type Draft, fieldText } from "../form.ts";
import {
  Choices,
  controlAttributes,
  Field,
  Problem,
  Select,
  Submit,
  TextArea,
  TextField,
} from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy } from "../ui/parts.tsx";
import {
  DEFAULT_EXPIRY,
  DEFAULT_SCOPES,
  EXPIRIES,
  MODEL_CHOICES,
  PRIORITY_CHOICES,
  SCOPES,
} from "./form.ts";

export const NewToken = ({ draft, models }: { draft: Draft; models: string[] }) => (
  <Form action="/tokens" class="narrow" id="new-token">
    <Problem draft={draft} />
    <TextField
      name="name"
      label="Name"
      hint="Where it will be used, so that you can recognize it later."
      maxlength={100}
      autocomplete="off"
      required
      draft={draft}
    />
    <Choices name="scopes" label="Scopes" values={DEFAULT_SCOPES} options={SCOPES} draft={draft} />
    <Select
      name="expires"
      label="Expires"
      value={DEFAULT_EXPIRY}
      required
      options={EXPIRIES}
      draft={draft}
    />
    <div class="date-field">
      <LastDay draft={draft} />
    </div>
    <Choices
      one
      name="models_for"
      label="Models"
      values={["all"]}
      options={MODEL_CHOICES}
      draft={draft}
    />
    <div class="models-field">
      <Models draft={draft} models={models} />
    </div>
    <Select
      name="priority"
      label="Priority"
      hint="Of its predictions while they wait for a runner: this one, or a lower one that they ask for."
      value=""
      options={PRIORITY_CHOICES}
      draft={draft}
    />
    <Submit>Create token</Submit>
  </Form>
);

/** The field has no `required` attribute: browsers would enforce it while the field is hidden. */
function LastDay({ draft }: { draft: Draft }) {
  const about = {
    name: "expires_at",
    hint: "The token works until the end of this day, UTC.",
    draft,
  };
  const value = draft.values ? fieldText(draft.values, about.name) : "";
  return (
    <Field {...about} label="Last day" required>
      <input {...controlAttributes(about.name, about.hint, draft)} type="date" value={value} />
    </Field>
  );
}

/** The text area comes first: a rejected form refills the first field of a name. */
const Models = ({ draft, models }: { draft: Draft; models: string[] }) => (
  <>
    <TextArea
      name="models"
      label="Selected models"
      hint={
        <>
          One <code>owner/name</code> per line, <a href="/models">yours or others'</a>. The token
          cannot use other models or read their predictions.
        </>
      }
      rows={3}
      class="code"
      draft={draft}
    />
    {models.length > 0 && <OwnModels draft={draft} models={models} />}
  </>
);

function OwnModels({ draft, models }: { draft: Draft; models: string[] }) {
  const ticked = draft.values?.getAll("models") ?? [];
  return (
    <fieldset class="field choices own-models">
      <legend>Yours</legend>
      {models.map((model) => (
        <label class="choice">
          <input type="checkbox" name="models" value={model} checked={ticked.includes(model)} />
          <span>{model}</span>
        </label>
      ))}
    </fieldset>
  );
}

export interface CreatedToken {
  token: string;
  name: string;
  /** An endpoint that the token may call. */
  url: string;
}

export const TokenCreated = ({ created: { token, name, url } }: { created: CreatedToken }) => (
  <section class="box new-secret" aria-labelledby="created-title">
    <h2 id="created-title">Your new token: {name}</h2>
    <p>Copy it now and keep it secret. It will not be shown again.</p>
    <Copy text={token} label="Copy token" />
    <p>Try it:</p>
    <Copy
      lines
      label="Copy commands"
      text={`export AUSPEX_TOKEN=${token}\ncurl ${url} -H "Authorization: Bearer $AUSPEX_TOKEN"`}
    />
  </section>
);
