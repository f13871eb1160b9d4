/** The ways to publish a model, ready to paste, and how to see its first answer. */
import type { Child } from "hono/jsx";
import { hardwareOf, isServed } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { viewerOf } from "../access.ts";
import type { PageContext } from "../context.ts";
import { type Draft, emptyDraft } from "../form.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy } from "../ui/parts.tsx";
import { cogText, commandText, dockerText, type PublishNames } from "./commands.ts";

export interface PublishState {
  /** Names for the commands, with the token that was just made, which is shown only once. */
  names: PublishNames;
  /** Whether the model is there: otherwise its name is an example, and publishing makes it. */
  exists: boolean;
  hasRunner: boolean;
  operator: boolean;
  draft?: Draft;
}

/** @param level of its headings: those of the page around it come before */
export const PublishWays = ({ state, level = 2 }: { state: PublishState; level?: 2 | 3 }) => (
  <div class="measure">
    <Token state={state} level={level} />
    <Ways state={state} />
    <FirstAnswer state={state} level={level} />
  </div>
);

interface PartProps {
  state: PublishState;
  level: 2 | 3;
}

function Token({ state: { names, exists, draft = emptyDraft }, level }: PartProps) {
  if (names.token !== undefined) {
    const Heading = `h${level}` as const;
    return (
      <section class="panel new-secret" aria-labelledby="created-title">
        <Heading id="created-title">Your new token</Heading>
        <p>
          The commands below include it. Copy it now and keep it secret. You won’t see it again. It
          expires in 90 days. Manage it under <a href="/tokens">Access tokens</a>.
        </p>
        <Copy text={names.token} label="Copy token" />
      </section>
    );
  }
  return (
    <Form
      action={exists ? `/models/${names.username}/${names.name}/publish` : "/models/publish"}
      draft={draft}
    >
      <p>Create a token to fill in the commands below.</p>
      <Submit>Create token</Submit>
    </Form>
  );
}

const Ways = ({ state: { names } }: { state: PublishState }) => (
  <div class="box spaced ways">
    <Way title="With the auspex command" text={commandText(names)} open>
      Requires Node.js 22.13 or later, and Docker, Podman, or Cog.{" "}
      {names.isFirst ? (
        <>
          <code>auspex init</code> creates a sample model in a new folder. Skip it if you have a{" "}
          <code>cog.yaml</code> or a Dockerfile.
        </>
      ) : (
        <>
          Run it in the folder of your <code>cog.yaml</code> or Dockerfile.
        </>
      )}{" "}
      No layer size limit. Interrupted pushes resume. See{" "}
      <a href="/docs/publishing">Publishing models</a>.
    </Way>
    <Way title="With Docker" text={dockerText(names)}>
      With docker push, layers are limited to 100 MB on most Cloudflare plans. For larger layers,
      use <code>auspex publish --image</code>. Pushed images are listed under{" "}
      <a href="/account/images">Images</a>.
    </Way>
    <Way title="With Cog" text={cogText(names)}>
      Requires Cog 0.17 or later. The two settings upload large layers in chunks.
    </Way>
  </div>
);

/** Browsers keep only one `<details>` open of those that share a name. */
const Way = ({
  title,
  text,
  open,
  children,
}: {
  title: string;
  text: string;
  open?: boolean;
  children: Child;
}) => (
  <details name="ways" open={open}>
    <summary class="strong">{title}</summary>
    <Copy lines text={text} />
    <p class="hint">{children}</p>
  </details>
);

function FirstAnswer({ state: { names, exists, hasRunner, operator }, level }: PartProps) {
  const Heading = `h${level}` as const;
  const model = `/models/${names.username}/${names.name}`;
  return (
    <>
      <Heading>Run the model</Heading>
      {!hasRunner && <NoRunner operator={operator} />}
      <p>
        {exists ? (
          <>
            After publishing, run the model in <a href={model}>its playground</a>.
          </>
        ) : (
          <>
            After publishing, open it under <a href={`/models/${names.username}`}>your models</a>{" "}
            and run it in the playground.
          </>
        )}{" "}
        The first run takes longer because the runner downloads the image.
      </p>
    </>
  );
}

const NoRunner = ({ operator }: { operator: boolean }) => (
  <p class="warning-note">
    {operator ? (
      <>
        No runners available, so runs will be queued. <a href="/fleet">Add a GPU machine</a> first.
      </>
    ) : (
      "No runners available, so runs will be queued. Ask the operator of this deployment to add a GPU machine."
    )}
  </p>
);

const EXAMPLE = "greeter";

/** @param model that the viewer may publish to; undefined: one that is not there yet */
export async function publishState(
  c: PageContext,
  model: DetailedModelRow | undefined,
  { token, draft }: { token?: string | undefined; draft?: Draft | undefined } = {},
): Promise<PublishState> {
  const { services, origin } = c.var;
  const { account, operator } = viewerOf(c);
  const hardware = model && hardwareOf(model, model.latest_version);
  const { username } = model?.owner ?? account;
  return {
    names: {
      origin,
      username,
      name: model?.name ?? EXAMPLE,
      token,
      // `auspex init` and `auspex publish` without --model are for the reader's own account.
      isFirst: !model?.latest_version && username === account.username,
    },
    exists: model !== undefined,
    hasRunner: await isServed(services, hardware),
    operator,
    ...(draft && { draft }),
  };
}
