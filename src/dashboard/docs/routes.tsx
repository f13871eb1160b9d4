/** The documentation: the guides, the API reference and a search of both. Nobody needs a token, unless the deployment is closed. */
import { $ } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { AppEnv } from "../../context.ts";
import { createDocument, DOCUMENT_CACHE, operationsIn, perOrigin } from "../../openapi/document.ts";
import type { Document } from "../../openapi/types.ts";
import type { Manifest, Passage } from "../../protocol/assets.ts";
import { guideOf, readManifest, readPassages } from "../../services/assets.ts";
import { ownHtml } from "../ui/markdown.ts";
import { Copy } from "../ui/parts.tsx";
import {
  DOCS,
  FOR_CONTRIBUTORS,
  GUIDES,
  groupPath,
  NAVIGATION,
  REFERENCE,
  REFERENCE_PAGES,
  SEARCH,
} from "./contents.ts";
import { GuidePage } from "./guide/page.tsx";
import { passagesOf } from "./guide/render.ts";
import { DocsLayout } from "./layout.tsx";
import { ReferencePage } from "./reference/page.tsx";
import { addressOf } from "./reference/request.ts";
import { type Found, findPassages, MAX_QUERY } from "./search/find.ts";

/** The first page: a first call, and a map of all guides and of the API reference. */
const StartPage = ({ origin, assets }: { origin: string; assets: Manifest }) => (
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

/** Results of a search in the documentation. */
interface Props {
  query: string;
  found: Found[];
  assets: Manifest;
}

const SearchPage = ({ query, found, assets }: Props) => (
  <DocsLayout
    title={query === "" ? "Search" : `Search: ${query}`}
    description="Search the guides and the API reference."
    path={SEARCH}
    query={query}
    assets={assets}
  >
    <h1>{query === "" ? "Search" : `Search for “${query}”`}</h1>
    {query !== "" && found.length === 0 && <p>No results. Try fewer words.</p>}
    <ol class="ruled spaced found">
      {found.map(({ path, id, page, title, excerpt }) => (
        <li>
          <a href={id === "" ? path : `${path}#${id}`}>{title}</a>{" "}
          <span class="quiet small">{page}</span>
          <p>{excerpt}</p>
        </li>
      ))}
    </ol>
  </DocsLayout>
);

/** Returns the parts of the API reference that a search looks through, besides the guides. */
const passagesIn = (document: Document): Passage[] => [
  ...passagesOf(
    { title: "API reference", html: ownHtml(document.info.description ?? "") },
    REFERENCE,
  ),
  ...operationsIn(document).map(({ operation, method, path }) => ({
    path: groupPath(operation.tags?.[0] ?? ""),
    page: "API reference",
    id: operation.operationId ?? "",
    title: operation.summary ?? path,
    text: `${method.toUpperCase()} ${addressOf(path)} ${operation.description ?? ""}`,
  })),
];

const CACHED = { "cache-control": DOCUMENT_CACHE };

/** Not 'self': uploaded files are served from this origin too. */
const below = (path: string) => (c: Context) => `${new URL(c.req.url).origin}${path}`;

const pageHeaders = secureHeaders({
  // The owner of the domain decides whether it is https only.
  strictTransportSecurity: false,
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: [below("/assets/")],
    styleSrc: [below("/assets/")],
    fontSrc: [below("/assets/")],
    imgSrc: ["data:", below("/assets/")],
    baseUri: ["'none'"],
    formAction: [below(SEARCH)],
    frameAncestors: ["'none'"],
  },
});

/** Describes the routes that `app` has when this is called: mount it after them. */
export function mountDocs(app: Hono<AppEnv>): void {
  const api = $(app);
  const documentOf = perOrigin((shape, origin) => createDocument(api, shape, origin));
  app.get(DOCS, pageHeaders, async (c) => {
    const { origin } = new URL(c.req.url);
    const page = <StartPage origin={origin} assets={await readManifest(c.env)} />;
    return c.html(`<!DOCTYPE html>${page}`, 200, CACHED);
  });
  for (const [path] of REFERENCE_PAGES) {
    const pageOf = perOrigin(
      (_, __, document: Document, assets: Manifest) =>
        `<!DOCTYPE html>${<ReferencePage path={path} document={document} assets={assets} />}`,
    );
    app.get(path, pageHeaders, async (c) =>
      c.html(pageOf(c, documentOf(c), await readManifest(c.env)), 200, CACHED),
    );
  }

  const inReference = perOrigin((_, __, document: Document) => passagesIn(document));
  app.get(SEARCH, pageHeaders, async (c) => {
    const query = c.req.query("q")?.trim().slice(0, MAX_QUERY) ?? "";
    const [passages, assets] = await Promise.all([readPassages(c.env), readManifest(c.env)]);
    const ofUsers = passages.filter(({ path }) => FOR_CONTRIBUTORS.every(([at]) => at !== path));
    const found = findPassages([...ofUsers, ...inReference(c, documentOf(c))], query);
    const page = <SearchPage query={query} found={found} assets={assets} />;
    return c.html(`<!DOCTYPE html>${page}`, 200, CACHED);
  });

  for (const [path, name] of GUIDES) {
    app.get(path, pageHeaders, async (c) => {
      const [guide, assets] = await Promise.all([guideOf(c.env, name), readManifest(c.env)]);
      const { origin } = new URL(c.req.url);
      const page = <GuidePage guide={guide} path={path} origin={origin} assets={assets} />;
      return c.html(`<!DOCTYPE html>${page}`, 200, CACHED);
    });
  }
}
