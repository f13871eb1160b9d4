/** The first page of the documentation: a first call, and a map of all guides and of the API reference. */
import type { Manifest } from "../../protocol/assets.ts";
import { Copy } from "../ui/parts.tsx";
import { DOCS, FOR_CONTRIBUTORS, NAVIGATION } from "./contents.ts";
import { DocsLayout } from "./layout.tsx";

export const StartPage = ({ origin, assets }: { origin: string; assets: Manifest }) => (
  <DocsLayout
    title="Documentation"
    description="Run a model, and find the guides and the API reference."
    path={DOCS}
    assets={assets}
  >
    <h1>Documentation</h1>
    <h2 id="quickstart">Quickstart</h2>
    <p>
      Create an <a href="/tokens">access token</a>, pick a <a href="/models">model</a>, and run it:
    </p>
    <Copy lines language="curl" text={quickstartOf(origin)} />
    <div class="cards map">
      {NAVIGATION.map(({ title, pages }) => (
        <section>
          <h2>{title}</h2>
          <ul>
            {pages.map(([address, label]) => (
              <li>
                <a href={address}>{label}</a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
    <p class="quiet small">
      For contributors:{" "}
      {FOR_CONTRIBUTORS.map(([address, label], n) => (
        <>
          {n > 0 && ", "}
          <a href={address}>{label}</a>
        </>
      ))}
    </p>
  </DocsLayout>
);

const quickstartOf = (origin: string) => `export AUSPEX_TOKEN=aus_…
curl ${origin}/v1/predictions \\
  -H "Authorization: Bearer $AUSPEX_TOKEN" \\
  -H "Content-Type: application/json" -H "Prefer: wait" \\
  -d '{"model": "owner/model", "input": {"prompt": "Hello"}}'`;
