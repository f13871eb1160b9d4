/** A guide with its table of contents, and with this deployment's own address in its examples. */
import { raw } from "hono/html";
import type { Guide, Manifest } from "../../../protocol/assets.ts";
import { DocsLayout, Neighbors } from "../layout.tsx";

/** The host that guides have for the deployment, and its address. */
const EXAMPLE_HOST = "auspex.example.com";
const EXAMPLE_ORIGIN = `https://${EXAMPLE_HOST}`;

interface Props {
  guide: Guide;
  path: string;
  origin: string;
  assets: Manifest;
}

export function GuidePage({ guide, path, origin, assets }: Props) {
  const { host } = new URL(origin);
  const html = (text: string) =>
    raw(text.replaceAll(EXAMPLE_ORIGIN, origin).replaceAll(EXAMPLE_HOST, host));
  return (
    <DocsLayout title={guide.title} description={guide.description} path={path} assets={assets}>
      <div class="guide">
        <div class="introduction">
          <h1>{guide.title}</h1>
          {html(guide.introduction)}
        </div>
        <Contents headings={guide.headings} />
        <div class="sections">
          <Environment text={guide.introduction + guide.sections} origin={origin} />
          {html(guide.sections)}
          <Neighbors path={path} />
        </div>
      </div>
    </DocsLayout>
  );
}

/** The headings of the two levels below the title. */
const Contents = ({ headings }: Pick<Guide, "headings">) => (
  <nav aria-label="On this page" class="toc">
    <details class="box fold">
      <summary class="strong">On this page</summary>
      <ul>
        {headings
          .filter(({ level }) => level <= 3)
          .map(({ level, id, html }) => (
            <li class={`level-${level}`}>
              <a href={`#${id}`}>{raw(html)}</a>
            </li>
          ))}
      </ul>
    </details>
  </nav>
);

/** Commands that set the variables of a guide's examples, unless the guide has them itself. */
function Environment({ text, origin }: { text: string; origin: string }) {
  if (!text.includes("AUSPEX_URL") || text.includes("export AUSPEX_URL")) return null;
  const withToken = text.includes("AUSPEX_TOKEN");
  const lines = [
    `export AUSPEX_URL=${origin}`,
    ...(withToken ? ["export AUSPEX_TOKEN=aus_…"] : []),
  ];
  return (
    <aside class="box environment">
      <p>
        The examples read the address of this deployment
        {withToken && (
          <>
            {" "}
            and an <a href="/tokens">access token</a>
          </>
        )}{" "}
        from the environment:
      </p>
      <div class="copy">
        <pre tabindex={0}>
          <code>{lines.join("\n")}</code>
        </pre>
        <button type="button" class="quiet" data-copy="" hidden>
          Copy
        </button>
      </div>
    </aside>
  );
}
