/** The documentation: the API reference at /docs, and the guides beside it. Nobody needs a token. */
import { $ } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { AppEnv } from "../../context.ts";
import { createDocument, DOCUMENT_CACHE, perOrigin } from "../../openapi/document.ts";
import type { Manifest } from "../../protocol/assets.ts";
import { guideOf, readManifest, readPassages } from "../../services/assets.ts";
import { GUIDES, REFERENCE, SEARCH } from "./contents.ts";
import { GuidePage } from "./guide/page.tsx";
import { ReferencePage } from "./reference/page.tsx";
import { findPassages, MAX_QUERY } from "./search/find.ts";
import { SearchPage } from "./search/page.tsx";
import { callsIn } from "./search/passages.ts";

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
  const reference = perOrigin((shape, origin, assets: Manifest) => {
    const document = createDocument(api, shape, origin);
    return `<!DOCTYPE html>${<ReferencePage document={document} assets={assets} />}`;
  });

  app.get(REFERENCE, pageHeaders, async (c) =>
    c.html(reference(c, await readManifest(c.env)), 200, CACHED),
  );

  const calls = perOrigin((shape, origin) => callsIn(createDocument(api, shape, origin)));
  app.get(SEARCH, pageHeaders, async (c) => {
    const query = c.req.query("q")?.trim().slice(0, MAX_QUERY) ?? "";
    const [passages, assets] = await Promise.all([readPassages(c.env), readManifest(c.env)]);
    const found = findPassages([...passages, ...calls(c)], query);
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
