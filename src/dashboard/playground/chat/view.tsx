/** The chat: a conversation that client code fills, with its settings and code beside it. */

import type { PropsWithChildren } from "hono/jsx";
import { interfaceOf } from "../../../domain/models/remote.ts";
import { fillForm } from "../../../domain/schemas/input-form-values.ts";
import { versionSchema } from "../../../domain/schemas/version-schemas.ts";
import { modelAddress, referenceOf } from "../../ui/model-header.tsx";
import { type PlaygroundState, pinnedIdOf, pinnedOf, samplesOf, streamsText } from "../address.ts";
import { Code } from "../code/view.tsx";
import { EstimateLine } from "../estimate.tsx";
import { ExampleChoices } from "../examples.tsx";
import { Control } from "../input-form.tsx";
import { RecentRuns } from "../recent-runs.tsx";
import { EXAMPLE_TOOLS } from "./input.ts";
import { chatSettings, chatWire, takesPictures, takesTools } from "./wire.ts";

interface Props {
  play: PlaygroundState;
  /** The id of the user, for whom alone a conversation is kept. */
  user: string;
  origin: string;
}

export function Chat({ play, user, origin }: Props) {
  const { model, version, tab } = play;
  const { compatibilities, number } = version;
  const reference = referenceOf(model);
  const wire = chatWire(compatibilities) ?? "chat";
  const fields = play.opened?.settings ?? fillForm(chatSettings(version, wire)) ?? [];
  const { host } = new URL(origin);
  const side = tab === "code" ? "code" : "settings";
  return (
    <div
      class="chat"
      data-chat={modelAddress(model)}
      data-model={reference}
      data-version={number}
      data-pinned={pinnedOf(play)}
      data-pinned-id={pinnedIdOf(play)}
      data-streams={streamsText(play.version) ? "true" : undefined}
      data-compatibilities={JSON.stringify(compatibilities)}
      data-wire={wire}
      data-fields={JSON.stringify(fields.map(({ text, ...field }) => field))}
      data-opened={play.opened && JSON.stringify(play.opened.conversation)}
      data-user={user}
      data-asks-to-stream={interfaceOf(version.configuration) === "vendora" ? "true" : undefined}
      data-side={side}
      data-narrow={tab === "code" ? "side" : "chat"}
    >
      <nav class="tabs" aria-label="Parts of the chat">
        <a href="#conversation" class="only-narrow" data-tab="chat">
          Conversation
        </a>
        {SIDES.map(([id, name]) => (
          <a href={`#chat-${id}`} data-tab={id} aria-current={id === side ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <Conversation
        name={model.name}
        note={play.note}
        withPictures={takesPictures(inputOf(version))}
      >
        <EstimateLine {...play} />
        <ExampleChoices
          examples={play.examples}
          address={modelAddress(model)}
          current={undefined}
          host={host}
          fields={play.form.fields}
        />
      </Conversation>
      <section class="chat-side" id="chat-settings" aria-label="Settings" data-panel="settings">
        <Settings fields={fields} withTools={takesTools(version)} />
      </section>
      <section class="chat-side" id="chat-code" aria-label="Code" data-panel="code">
        <Code samples={samplesOf(play, origin, {})} />
      </section>
      <section class="chat-side" id="chat-runs" aria-label="Recent runs" data-panel="runs">
        <p class="hint">Each reply is saved as a prediction.</p>
        <RecentRuns
          runs={play.runs}
          model={reference}
          address={modelAddress(model)}
          current={play.prediction?.prediction}
          host={host}
          asForm={false}
          version={play.version.number}
          fields={play.form.fields}
        />
      </section>
    </div>
  );
}

const SIDES = [
  ["settings", "Settings"],
  ["code", "Code"],
  ["runs", "Recent runs"],
] as const;

const inputOf = ({ schemas }: PlaygroundState["version"]) => versionSchema(schemas, "input");

const Conversation = ({
  name,
  note,
  withPictures,
  children,
}: PropsWithChildren<{ name: string; note: string | undefined; withPictures: boolean }>) => (
  <section class="chat-main" id="conversation" aria-label="Conversation">
    <div class="chat-welcome" data-welcome>
      <p>
        <strong>Chat with {name}.</strong>
      </p>
      <p class="hint">Chats are kept in this tab. Each reply is saved as a prediction.</p>
      {children}
    </div>
    {note && (
      <p class="hint" data-run-note>
        {note}
      </p>
    )}
    <ol class="turns" data-turns aria-label="Messages" />
    <p class="visually-hidden" role="status" data-announce />
    <form class="composer" data-composer>
      <ul class="flow attachments" data-attachments aria-label="Attached images" hidden />
      <label for="chat-message" class="visually-hidden">
        Message
      </label>
      <textarea
        id="chat-message"
        rows={1}
        placeholder={`Message ${name}`}
        aria-describedby="chat-keys"
        aria-keyshortcuts="Enter"
        autocomplete="off"
      />
      <p class="field-error" data-composer-problem hidden />
      <div class="bar composer-bar">
        {withPictures && (
          <>
            <button type="button" class="quiet" data-attach>
              Attach<span class="visually-hidden"> pictures</span>
            </button>
            <input type="file" accept="image/*" multiple hidden data-attach-files />
          </>
        )}
        <button type="button" class="plain" data-clear hidden>
          New chat
        </button>
        <small id="chat-keys" class="push">
          Enter to send<span class="more-keys">, Shift+Enter for a new line</span>
        </small>
        <button type="button" class="quiet" data-stop aria-keyshortcuts="Escape" hidden>
          Stop
        </button>
        <button type="submit" class="primary" data-send>
          Send
        </button>
      </div>
    </form>
  </section>
);

const Settings = ({
  fields,
  withTools,
}: {
  fields: Parameters<typeof Control>[0]["field"][];
  withTools: boolean;
}) => (
  <form class="chat-settings" data-settings>
    <div class="field">
      <label for="chat-system">System prompt</label>
      <textarea id="chat-system" rows={4} placeholder="For example: Answer in one sentence." />
    </div>
    {fields.length > 0 && (
      <details>
        <summary class="strong">Sampling</summary>
        {fields.map((field, n) => (
          <Control field={field} n={n} />
        ))}
      </details>
    )}
    {withTools && (
      <details data-tools-panel>
        <summary class="strong">Tools</summary>
        <div class="field">
          <label for="chat-tools">Functions the model can call</label>
          <p class="hint" id="chat-tools-hint">
            A JSON array. Each function has a name, a description, and a JSON Schema for its
            parameters. When the model calls one, you enter the result.
          </p>
          <textarea
            id="chat-tools"
            class="mono"
            rows={6}
            spellcheck={false}
            aria-describedby="chat-tools-hint"
          />
        </div>
        <button type="button" class="quiet" data-example-tools={EXAMPLE_TOOLS}>
          Insert an example
        </button>
      </details>
    )}
  </form>
);
