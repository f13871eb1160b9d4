/** The part of a model's settings that shares it with users and organizations. */
import { accessToModel } from "../../domain/accounts/access.ts";
import { type Collaborator, type ShareLevel, shareLevel } from "../../protocol/organization.ts";
import { ownerName } from "../../protocol/user.ts";
import { listCollaborators } from "../../services/models/collaborators.ts";
import type { Page } from "../../services/pagination.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { viewerOf } from "../access.ts";
import type { PageContext } from "../context.ts";
import type { Draft } from "../form.ts";
import { Select, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { modelAddress } from "../ui/model-header.tsx";
import { Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

const PAGE_SIZE = 50;

export const LEVELS: Record<ShareLevel, { name: string; can: string }> = {
  run: { name: "Run: see and run the model", can: "run the model" },
  write: {
    name: "Write: also publish versions, and edit texts and examples",
    can: "publish versions",
  },
};

const OPTIONS = shareLevel.options.map((level) => ({ value: level, label: LEVELS[level].name }));

/** Renders the shares of a model for a viewer who may change them. */
export async function sharingOf(c: PageContext, model: DetailedModelRow, draft: Draft) {
  const { caller } = viewerOf(c);
  const access = accessToModel(caller, { ...model, owner_id: model.owner.id }, "share");
  if (access !== "granted") return null;
  const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const place: [string, string] = [model.owner.username, model.name];
  const page = await listCollaborators(c.var.services, caller, place, request);
  return <Sharing model={model} page={page} draft={draft} />;
}

interface Props {
  model: DetailedModelRow;
  page: Page<Collaborator>;
  draft: Draft;
}

const Sharing = ({ model, page, draft }: Props) => (
  <section class="panel measure spaced" aria-labelledby="sharing">
    <h2 id="sharing">Sharing</h2>
    <p>
      {model.visibility === "private"
        ? "Only the owner and these accounts can see and run the model."
        : `This model is ${model.visibility}: everybody can run it. A share at the level run matters once it is private.`}{" "}
      Versions that a collaborator publishes can read its variables.{" "}
      <a href="/docs/teams#share-a-model">About sharing</a>
    </p>
    {page.items.length > 0 && <Collaborators model={model} items={page.items} />}
    <Pager previous={page.previous_url} next={page.next_url} />
    <Form action={modelAddress(model, "/collaborators")} draft={draft}>
      <TextField
        name="account"
        label="Username"
        hint="A user or an organization."
        maxlength={63}
        autocomplete="off"
        required
      />
      <Select name="level" label="Level" value="run" options={OPTIONS} required />
      <Submit kind="quiet">Share</Submit>
    </Form>
  </section>
);

const Collaborators = ({ model, items }: Pick<Props, "model"> & { items: Collaborator[] }) => (
  <Table
    class="stacked"
    aria-label="Collaborators"
    columns={["Username", "Level", "Since", { name: "Actions", is: "hidden" }]}
  >
    {items.map(({ account, level, created_at }) => {
      const username = ownerName(account);
      return (
        <tr>
          <th scope="row">
            {username} {account.kind === "organization" && <small>organization</small>}
          </th>
          <td data-label="Level">
            <Form action={modelAddress(model, "/collaborators")} class="bar">
              <input type="hidden" name="account" value={username} />
              <select name="level" aria-label={`Level of ${username}`}>
                {shareLevel.options.map((one) => (
                  <option value={one} selected={one === level}>
                    {one}
                  </option>
                ))}
              </select>
              <button type="submit" class="quiet">
                Change<span class="visually-hidden">{` the level of ${username}`}</span>
              </button>
            </Form>
          </td>
          <td data-label="Since">
            <Time at={created_at} />
          </td>
          <td class="end">
            <Form
              action={modelAddress(model, `/collaborators/${username}/remove`)}
              data-confirm={`Stop sharing with ${username}? Their running predictions finish.`}
            >
              <button type="submit" class="danger">
                Remove<span class="visually-hidden">{` ${username}`}</span>
              </button>
            </Form>
          </td>
        </tr>
      );
    })}
  </Table>
);
