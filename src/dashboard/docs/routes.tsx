/** /docs: the API reference, which needs no token. */
import { $ } from "@hono/zod-openapi";
import type { Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { makeDocument } from "../../openapi/document.ts";
import { DOCUMENT_CACHE, perOrigin } from "../../openapi/per-origin.ts";
import type { App } from "../../routes/context.ts";
import { ReferencePage } from "./reference/page.tsx";
import { stylesheet } from "./reference/stylesheet.ts";

const STYLESHEET = "/docs/style.css";

const pageHeaders = secureHeaders({
  // The owner of the domain decides whether it is https only.
  strictTransportSecurity: false,
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    // Not 'self': uploaded files are served from this origin too.
    styleSrc: [(c) => `${new URL(c.req.url).origin}${STYLESHEET}`],
    imgSrc: ["data:"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
});

/** Describes the routes that `app` has when this is called: mount it after them. */
export function mountDocs(app: Hono<App>): void {
  const api = $(app);
  const page = perOrigin((shape, origin) => {
    const document = makeDocument(api, shape, origin);
    return `<!DOCTYPE html>${<ReferencePage document={document} stylesheet={STYLESHEET} />}`;
  });

  app.get("/docs", pageHeaders, (c) => c.html(page(c), 200, { "cache-control": DOCUMENT_CACHE }));

  app.get(STYLESHEET, pageHeaders, (c) =>
    c.body(stylesheet, 200, {
      "content-type": "text/css; charset=utf-8",
      "cache-control": DOCUMENT_CACHE,
    }),
  );
}
