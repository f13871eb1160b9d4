/** `/account`: profile, picture, usage, export and account deletion. */

import { stream } from "hono/streaming";
import { hasRole } from "../../domain/accounts/access.ts";
import { daysOfMonth, lastDays, monthOf } from "../../domain/accounts/usage.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { limitExport } from "../../middleware/concurrent-requests.ts";
import { exportQuery } from "../../protocol/export.ts";
import { updateUser } from "../../protocol/user.ts";
import { exportResponse } from "../../routes/accounts/export.ts";
import { parse } from "../../routes/router.ts";
import { removeAvatar, setAvatar } from "../../services/accounts/avatars.ts";
import { deleteAccount } from "../../services/accounts/delete-account.ts";
import { exportAccount } from "../../services/accounts/export.ts";
import {
  getGroups,
  getOwnStorage,
  getOwnUsage,
  isHardwarePriced,
  ownUsageCsv,
} from "../../services/accounts/usage.ts";
import { updateOwnUser } from "../../services/accounts/users.ts";
import { confirmIdentity, hasPassword, signOut } from "../../services/sign-in/sign-in.ts";
import { limitAttempts, requireRole, requireUser, sessionEndedLine, viewerOf } from "../access.ts";
import { addressIn, baseOf } from "../addresses.ts";
import { readBudgets } from "../budgets/read.ts";
import { type PageContext, pages, redirectWithFlash, requestSource } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, pickFields } from "../form.ts";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { AccountTabs } from "../ui/tabs.tsx";
import { type Drafts, ExportText, ProfilePage } from "./profile.tsx";
import { type Period, readTables, UsagePage } from "./usage.tsx";

const DeletePage = ({
  username,
  withPassword,
  draft,
}: {
  username: string;
  withPassword: boolean;
  draft: Draft;
}) => (
  <>
    <h1>Danger zone</h1>
    <AccountTabs current="/account/delete" />
    <h2>Export your data first</h2>
    <ExportText leaving />
    <h2>Delete your account</h2>
    <p>Deleting your account is permanent. Operators cannot restore it.</p>
    <h3>Immediately</h3>
    <ul>
      <li>You are logged out everywhere, and {username} can no longer log in.</li>
      <li>
        Your access tokens stop working within 10 seconds, and unfinished predictions are canceled.
      </li>
      <li>Your profile and models are hidden, and no one can run your models.</li>
      <li>Your webhook endpoints stop receiving events.</li>
    </ul>
    <h3>Within days</h3>
    <ul>
      <li>Inputs, outputs, logs, files and uploads are deleted.</li>
      <li>Models, versions, variables, your picture and your usage are deleted.</li>
      <li>
        <a href="/account/images">Images</a> are deleted once no running prediction of another
        account needs them.
      </li>
    </ul>
    <h3>What is kept</h3>
    <ul>
      <li>The username {username}, so no one else can take it.</li>
      <li>Images in other registries. Delete them there.</li>
      <li>Predictions that other accounts made with your models.</li>
    </ul>
    <Form action="/account/delete" class="narrow spaced" draft={draft}>
      <TextField
        name="username"
        label={`Type ${username} to confirm`}
        autocomplete="off"
        required
      />
      {withPassword ? (
        <TextField
          name="password"
          label="Password"
          type="password"
          autocomplete="current-password"
          required
        />
      ) : (
        <p class="hint">Requires a login within the last 15 minutes.</p>
      )}
      <Submit kind="danger">Delete account</Submit>
    </Form>
  </>
);

function periodOf(c: PageContext): Period {
  const now = Date.now();
  const month = c.req.query("month") ?? "";
  if (/^20\d\d-(?:0[1-9]|1[0-2])$/.test(month) && month <= monthOf(now))
    return { query: `month=${month}`, name: month, days: daysOfMonth(month, now) };
  const days = [30, 90].find((one) => String(one) === c.req.query("days")) ?? 30;
  return { query: `days=${days}`, name: `${days} days`, days: lastDays(days, now) };
}

/** Rows of the table of groups. */
const TABLE_ROWS = 100;

const profileAccess = requireRole("admin", "The profile of the account");
const usageAccess = requireRole("member", "The usage of the account");
const exportAccess = requireRole("admin", "The export of the account");

export const accountPages = pages()
  .get("/account", profileAccess, (c) => showProfile(c, {}))
  .post("/account", profileAccess, async (c) => {
    const { caller, account } = viewerOf(c);
    const { done: username, draft } = await handleForm(c, async (form) => {
      // Only owners of an organization get the field.
      const fields = { username: account.username, ...readProfileForm(form) };
      const { username: wanted = "", ...others } = parse(updateUser, fields, "body");
      const changes = wanted === account.username ? others : { username: wanted, ...others };
      await updateOwnUser(c.var.services, caller, changes);
      return wanted;
    });
    if (username !== undefined) {
      const saved = { user: viewerOf(c).user, account: { ...account, username } };
      return redirectWithFlash(c, "Profile saved.", addressIn(baseOf(saved), "/account"));
    }
    return showProfile(c, { profile: draft });
  })
  .post("/account/avatar", profileAccess, async (c) => {
    const { draft } = await handleForm(c, (form) => {
      const picture = form.get("avatar");
      if (!(picture instanceof File) || picture.size === 0)
        throw invalid(["body", "avatar"], "Choose a picture first.");
      return setAvatar(c.var.services, viewerOf(c).caller, picture, c.var.origin);
    });
    if (!draft) return redirectWithFlash(c, "Picture saved.", "/account");
    return showProfile(c, { avatar: draft });
  })
  .post("/account/avatar/remove", profileAccess, async (c) => {
    await removeAvatar(c.var.services, viewerOf(c).caller);
    return redirectWithFlash(c, "Picture removed.", "/account");
  })
  .get("/account/usage", usageAccess, async (c) => {
    const period = periodOf(c);
    const { caller, operator } = viewerOf(c);
    const hasMembers = caller.maker !== "";
    const asked = c.req.query("by");
    const by = readTables(hasMembers).find((name) => name === asked) ?? "token";
    const [report, groups, storage, hasPrices, budgets] = await Promise.all([
      getOwnUsage(c.var.services, caller, period.days),
      getGroups(c.var.services, caller, { days: period.days, groups: [by], limit: TABLE_ROWS + 1 }),
      // Members see what they use themselves, and storage is that of the whole account.
      hasRole(caller, "developer") ? getOwnStorage(c.var.services, caller) : undefined,
      isHardwarePriced(c.var.services),
      readBudgets(c),
    ]);
    const isCut = groups.length > TABLE_ROWS;
    const table = { by, groups: groups.slice(0, TABLE_ROWS), isCut };
    const facts = { report, table, hasMembers, storage, period, hasPrices, operator };
    const page = <UsagePage {...facts} budgets={budgets} />;
    return c.render(page, { title: "Usage" });
  })
  .get("/account/usage.csv", usageAccess, (c) => {
    const period = periodOf(c);
    c.header("content-type", "text/csv; charset=utf-8");
    c.header(
      "content-disposition",
      `attachment; filename="auspex-usage-${period.name.replace(" ", "-")}.csv"`,
    );
    c.header("cache-control", "no-store");
    return stream(c, async (writer) => {
      for await (const lines of ownUsageCsv(c.var.services, viewerOf(c).caller, period.days))
        await writer.write(lines);
    });
  })
  .get("/account/data", exportAccess, (c) =>
    c.render(
      <>
        <h1>Export</h1>
        <AccountTabs current="/account/data" />
        <ExportText />
      </>,
      { title: "Export" },
    ),
  )
  .get("/account/export", exportAccess, async (c) => {
    const { caller } = viewerOf(c);
    const { before } = parse(exportQuery, c.req.query(), "query");
    const url = new URL(c.req.path, c.var.origin).href;
    const { body } = await limitExport(
      c,
      () => exportAccount(c.var.services, caller, { url, before }),
      () => sessionEndedLine(c),
    );
    return exportResponse(body, before);
  });

export const deletionPages = pages()
  .get("/account/delete", requireUser, (c) => showDelete(c, emptyDraft))
  .post("/account/delete", requireUser, async (c) => {
    const { user, caller, session, session_id } = viewerOf(c);
    const { draft } = await handleForm(c, async (form) => {
      if (fieldText(form, "username").trim() !== user.username)
        throw invalid(["body", "username"], `Type ${user.username} to confirm.`);
      await limitAttempts(c, session_id);
      await confirmIdentity(c.var.services, session, requestSource(c), fieldText(form, "password"));
      await deleteAccount(c.var.services, caller);
    });
    if (draft) return showDelete(c, draft);
    for (const cookie of await signOut(c.var.services, requestSource(c)))
      c.header("set-cookie", cookie, { append: true });
    return redirectWithFlash(c, "Account deleted. Its data is being removed.", "/");
  });

/** All fields of PATCH /user; websites are one per line. */
const readProfileForm = (form: FormData) => ({
  ...(form.has("username") && pickFields(form, "username")),
  ...pickFields(form, "name", "location", "company"),
  // Forms submit line breaks as CRLF, which would count twice against the limit.
  bio: fieldText(form, "bio").replaceAll("\r\n", "\n"),
  urls: fieldText(form, "urls").split(/\s+/).filter(Boolean),
});

const showProfile = (c: PageContext, drafts: Partial<Drafts>) =>
  c.render(
    <ProfilePage
      viewer={viewerOf(c)}
      drafts={{ profile: emptyDraft, avatar: emptyDraft, ...drafts }}
    />,
    { title: "Profile", scripts: ["account"] },
  );

async function showDelete(c: PageContext, draft: Draft) {
  const { user } = viewerOf(c);
  const withPassword = await hasPassword(c.var.services, user.id);
  const page = <DeletePage username={user.username} withPassword={withPassword} draft={draft} />;
  return c.render(page, { title: "Danger zone" });
}
