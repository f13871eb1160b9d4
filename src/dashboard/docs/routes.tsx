/** The documentation: the API reference at /docs, and the guides beside it. Nobody needs a token. */
import { $ } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { AppEnv } from "../../context.ts";
import { createDocument } from "../../openapi/document.ts";
import { DOCUMENT_CACHE, perOrigin } from "../../openapi/per-origin.ts";
import { guideOf, readManifest } from "../../services/assets.ts";
import { GUIDES, REFERENCE, STYLESHEET } from "./contents.ts";
import { GuidePage } from "./guide/page.tsx";
import { ReferencePage } from "./reference/page.tsx";
import { stylesheet } from "./stylesheet.ts";

const CACHED = { "cache-control": DOCUMENT_CACHE };

/** Not 'self': uploaded files are served from this origin too. */
const below = (path: string) => (c: Context) => `${new URL(c.req.url).origin}${path}`;

const pageHeaders = (own: {
  scriptSrc?: ReturnType<typeof below>[];
  imgSrc?: ReturnType<typeof below>[];
}) =>
  secureHeaders({
    // The owner of the domain decides whether it is https only.
    strictTransportSecurity: false,
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      styleSrc: [below(STYLESHEET)],
      ...own,
      imgSrc: ["data:", ...(own.imgSrc ?? [])],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  });

const referenceHeaders = pageHeaders({});
const guideHeaders = pageHeaders({ scriptSrc: [below("/assets/")], imgSrc: [below("/assets/")] });

/** Describes the routes that `app` has when this is called: mount it after them. */
export function mountDocs(app: Hono<AppEnv>): void {
  const api = $(app);
  const reference = perOrigin((shape, origin) => {
    const document = createDocument(api, shape, origin);
    return `<!DOCTYPE html>${<ReferencePage document={document} />}`;
  });

  app.get(REFERENCE, referenceHeaders, (c) => c.html(reference(c), 200, CACHED));

  app.get(STYLESHEET, referenceHeaders, (c) =>
    c.body(stylesheet, 200, { "content-type": "text/css; charset=utf-8", ...CACHED }),
  );

  for (const [path, name] of GUIDES) {
    app.get(path, guideHeaders, async (c) => {
      const [guide, { files }] = await Promise.all([guideOf(c.env, name), readManifest(c.env)]);
      const { origin } = new URL(c.req.url);
      const page = <GuidePage guide={guide} path={path} origin={origin} scripts={[files.page]} />;
      return c.html(`<!DOCTYPE html>${page}`, 200, CACHED);
    });
  }
}
