/** `/`: the landing page of visitors, and the first steps of users. */
import { listOwnModels } from "../../services/models/models.ts";
import { type PageContext, pages, type Viewer } from "../context.ts";
import { publishState } from "../publish/state.ts";
import { type PublishState, PublishWays } from "../publish/ways.tsx";
import { Copy } from "../ui/parts.tsx";

export const homePages = pages().get("/", async (c) => {
  const { viewer } = c.var;
  const page = viewer ? (
    <GetStarted viewer={viewer} origin={c.var.origin} publish={await firstSteps(c, viewer)} />
  ) : (
    <Landing />
  );
  return c.render(page, { title: "Models on your own GPUs" });
});

/** The ways to publish, for whoever has no model yet. */
async function firstSteps(c: PageContext, { caller }: Viewer): Promise<PublishState | undefined> {
  const first = { cursor: undefined, size: 1, url: c.req.url };
  const { items } = await listOwnModels(c.var.services, caller, first);
  return items.length === 0 ? publishState(c, undefined) : undefined;
}

const Landing = () => (
  <>
    <div class="hero">
      <h1>Models on your own GPUs</h1>
      <p>
        Publish a model once, call it over HTTPS from anywhere and stream its output. Your GPUs stay
        where they are.
      </p>
      <p class="actions">
        <a class="button primary" href="/sign-in">
          Sign in
        </a>
        <a class="button quiet" href="/models">
          Browse models
        </a>
        <a class="button quiet" href="/docs">
          Read the API reference
        </a>
      </p>
    </div>
    <p class="hint">
      Deployed this yourself? <a href="/set-up">Set it up</a> with your operator token.
    </p>
  </>
);

const GetStarted = ({
  viewer,
  origin,
  publish,
}: {
  viewer: Viewer;
  origin: string;
  publish: PublishState | undefined;
}) => (
  <>
    <h1>Get started</h1>
    <p>
      <a href="/models">Find a model</a> and try it in its playground, or publish your own.
    </p>
    <ol class="steps">
      <li>
        <h2>{publish ? "Publish a model" : <a href="/models/publish">Publish a model</a>}</h2>
        {publish ? (
          <PublishWays state={publish} level={3} />
        ) : (
          <p>From a folder or an image to a model that you can call.</p>
        )}
      </li>
      <li>
        <h2>Call it from anywhere</h2>
        <Copy lines text={`curl ${origin}/v1/models -H "Authorization: Bearer $AUSPEX_TOKEN"`} />
        <p>
          Programs need an <a href="/tokens">access token</a>. The official OpenAI clients work too,
          with <code>{`${origin}/v1/vendora`}</code> as their base URL. See the{" "}
          <a href="/docs">API reference</a> for all calls.
        </p>
      </li>
      {viewer.operator && (
        <li>
          <h2>
            <a href="/fleet/tokens">Add a GPU box</a>
          </h2>
          <p>One command installs the runner. It makes outbound connections only.</p>
        </li>
      )}
    </ol>
  </>
);
