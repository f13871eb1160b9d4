/** `/shared/{token}`: a prediction for everybody with its link; and the links of an account. */

import { createMiddleware } from "hono/factory";
import { useRequestContext } from "hono/jsx-renderer";
import { z } from "zod";
import { OWN_SOURCE } from "../../domain/predictions/shared-content.ts";
import { limitRate } from "../../middleware/rate-limit.ts";
import { oneFile } from "../../protocol/file.ts";
import {
  createShare,
  listShares,
  readShared,
  readSharedFile,
  revokeShare,
  type SharedView,
  shareGone,
} from "../../services/shares/shares.ts";
import { nextPath, requireRole, viewerOf } from "../access.ts";
import { type Dashboard, pages, redirectWithFlash } from "../context.ts";
import { fieldText, readForm } from "../form.ts";
import { InputFields, MarkdownButton, OutputValue } from "../prediction-view/output.tsx";
import { outputsOf } from "../prediction-view/output-kind.ts";
import { duration } from "../ui/duration.ts";
import { Head, Scripts } from "../ui/head.tsx";
import { Bird } from "../ui/icon.tsx";
import { fragment } from "../ui/layout.tsx";
import { Status, Time } from "../ui/parts.tsx";
import { LIFETIMES, NewLinkPage, SharesPage } from "./links.tsx";

interface Props {
  view: SharedView;
  host: string;
}

function SharedPage({ view, host }: Props) {
  const { assets } = useRequestContext<Dashboard>().var;
  const title = view.model.name;
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
            {view.execution_time !== null && `, ran ${duration(Number(view.execution_time))}`}. Link
            expires <Time at={view.expires_at} />.
          </p>
          <div class="split prediction">
            <Output view={view} host={host} />
            <aside>
              <h2>Input</h2>
              <Input view={view} host={host} />
            </aside>
          </div>
        </main>
        <Scripts assets={assets} names={["prediction"]} />
      </body>
    </html>
  );
}

function Output({ view, host }: Props) {
  const { output, display, omitted, beginning } = view;
  const pieces = outputsOf(output, { display, host, whole: omitted === 0 });
  return (
    <section class="prediction-output" data-shared>
      <div class="bar spread output-head">
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
  if (input === undefined) return <p class="hint">Input hidden.</p>;
  if (Object.keys(input).length === 0) return <p class="hint">No visible input.</p>;
  return <InputFields input={input} host={host} all={undefined} />;
}

const PAGE_SIZE = 25;
const LIST = "/account/shares";

const lifetime = z.coerce
  .number()
  .refine((days) => LIFETIMES.includes(days))
  .catch(7);

const fileOfShare = z.object({
  source: z.union([z.literal(OWN_SOURCE), oneFile.shape.source_id]),
  name: oneFile.shape.file_name,
});

const shareAccess = requireRole("developer", "Shared links");

export const sharePages = pages()
  .get("/shared/:token", async (c) => {
    const { services, origin } = c.var;
    const view = await readShared(services, c.req.param("token"), origin);
    return fragment(c, <SharedPage view={view} host={new URL(origin).host} />);
  })
  .get("/shared/:token/files/:source/:name", async (c) => {
    const { token, ...file } = c.req.param();
    const { data } = fileOfShare.safeParse(file);
    if (!data) throw shareGone();
    return readSharedFile(c.var.services, { token, ...data }, c.req.raw, c.var.origin);
  })
  .post("/predictions/:prediction_id/share", shareAccess, async (c) => {
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    await limitRate(c, "predictions", caller.user_id);
    const { prediction_id: id } = c.req.param();
    const days = lifetime.parse(fieldText(await readForm(c), "days"));
    const { token, expires_at } = await createShare(services, caller, id, days);
    // The link is shown only in this response, which is never cached.
    const address = `${origin}/shared/${token}`;
    return c.render(<NewLinkPage id={id} address={address} expires_at={expires_at} />, {
      title: "Link created",
    });
  })
  .get(LIST, shareAccess, async (c) => {
    const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
    const page = await listShares(c.var.services, viewerOf(c).caller, request);
    return c.render(<SharesPage page={page} />, { title: "Shared links" });
  })
  .post(`${LIST}/:id/revoke`, shareAccess, async (c) => {
    await revokeShare(c.var.services, viewerOf(c).caller, c.req.param("id"));
    const from = fieldText(await readForm(c), "from");
    return redirectWithFlash(
      c,
      "Link revoked.",
      from.startsWith("/predictions/") ? nextPath(from) : LIST,
    );
  });

const SHARED = "/shared/";
const FILES = /^\/shared\/\w+\/files\//;

export const privateHeaders = createMiddleware<Dashboard>(async (c, next) => {
  await next();
  if (!c.req.path.startsWith(SHARED)) return;
  c.header("referrer-policy", "no-referrer");
  c.header("x-robots-tag", "noindex, nofollow, noarchive");
  c.header("cache-control", "no-store");
  // Files get the headers of their own addresses: they must not run scripts here. Errors are pages of ours.
  if (c.res.status < 400 && FILES.test(c.req.path))
    c.header("content-security-policy", "sandbox; default-src 'none'");
});
