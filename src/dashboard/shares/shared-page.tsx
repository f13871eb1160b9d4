/** What a link shows: a page of its own, that knows nobody. */

import { useRequestContext } from "hono/jsx-renderer";
import { unmarked } from "../../lib/exact-json.ts";
import type { SharedView } from "../../services/shares/shared-view.ts";
import type { Dashboard } from "../context.ts";
import { duration } from "../prediction-view/duration.ts";
import { InputValue } from "../prediction-view/input-value.tsx";
import { MarkdownButton } from "../prediction-view/markdown-button.tsx";
import { OutputValue } from "../prediction-view/output.tsx";
import { outputsOf } from "../prediction-view/output-kind.ts";
import { Head, Scripts } from "../ui/head.tsx";
import { Bird } from "../ui/icon.tsx";
import { Status, Time } from "../ui/parts.tsx";

interface Props {
  view: SharedView;
  host: string;
}

export function SharedPage({ view, host }: Props) {
  const { assets } = useRequestContext<Dashboard>().var;
  const title = `A run of ${view.model.name}`;
  return (
    <html lang="en">
      <head>
        <Head title={title} assets={assets} style="style.css" />
        <meta name="robots" content="noindex, nofollow" />
        <meta name="referrer" content="no-referrer" />
      </head>
      <body class="shared">
        <header class="shared-top">
          <span class="brand">
            <Bird assets={assets} />
            Auspex
          </span>
        </header>
        <main id="main" tabindex={-1}>
          <h1>{title}</h1>
          <p class="hint">
            <Status status={view.status} /> version {view.model.version}, created{" "}
            <Time at={view.created_at} />
            {view.execution_time !== null && `, ran ${duration(Number(view.execution_time))}`}.
            Shared by a link that ends on <Time at={view.expires_at} />.
          </p>
          <div class="prediction">
            <Output view={view} host={host} />
            <aside>
              <h2>Input</h2>
              <Input view={view} host={host} />
            </aside>
          </div>
        </main>
        <Scripts assets={assets} names={["shared"]} />
      </body>
    </html>
  );
}

function Output({ view, host }: Props) {
  const { output, display, omitted, beginning } = view;
  const pieces = outputsOf(output, { display, host, whole: omitted === 0 });
  return (
    <section class="prediction-output" data-shared>
      <div class="output-head">
        <h2>Output</h2>
        <MarkdownButton />
      </div>
      <div data-output>
        {pieces.map((one) => (
          <OutputValue output={one} input={view.input} host={host} all={undefined} />
        ))}
        {beginning && <div class="output-item text">{beginning.text}</div>}
      </div>
      {omitted > 0 && <p class="hint">The output is too large to show in full.</p>}
      {pieces.length + omitted === 0 && <p class="hint">No output.</p>}
    </section>
  );
}

function Input({ view: { input }, host }: Props) {
  if (input === undefined) return <p class="hint">The input is not shown.</p>;
  const fields = Object.entries(input);
  if (fields.length === 0) return <p class="hint">No fields are shown.</p>;
  return (
    <dl class="input">
      {fields.map(([name, value]) => (
        <>
          <dt>{unmarked(name)}</dt>
          <dd>
            <InputValue value={value} host={host} all={undefined} />
          </dd>
        </>
      ))}
    </dl>
  );
}
