/** `/`: the landing page of visitors, and the first steps of users. */
import { type PageContext, pages } from "../context.ts";
import { Copy } from "../ui/parts.tsx";

export const homePages = pages().get("/", (c) =>
  c.render(c.var.viewer ? <GetStarted c={c} /> : <Landing />, { title: "Models on your own GPUs" }),
);

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

const GetStarted = ({ c }: { c: PageContext }) => (
  <>
    <h1>Get started</h1>
    <ol class="steps">
      <li>
        <h2>
          <a href="/models">Find a model</a> and try it in its playground
        </h2>
        <p>
          Or <a href="/models/new">create your own</a> and publish a version of it.
        </p>
      </li>
      <li>
        <h2>
          <a href="/tokens">Create an access token</a>
        </h2>
        <p>Programs use it to call Auspex. It is shown only once.</p>
      </li>
      <li>
        <h2>Call it from anywhere</h2>
        <Copy
          lines
          text={`curl ${c.var.origin}/v1/models -H "Authorization: Bearer $AUSPEX_TOKEN"`}
        />
        <p>
          The official OpenAI clients work too, with <code>{`${c.var.origin}/v1/vendora`}</code> as
          their base URL. See the <a href="/docs">API reference</a> for all calls.
        </p>
      </li>
      {c.var.viewer?.operator && (
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
