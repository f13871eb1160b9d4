/** `/fleet/hardware`: the hardware classes that models can name. */

import { priceText } from "../../domain/money/price.ts";
import { slug } from "../../protocol/common.ts";
import {
  type Hardware,
  LOCATION_HINTS,
  type LocationHint,
  putHardware,
} from "../../protocol/hardware.ts";
import { amountOf } from "../../protocol/money.ts";
import { parse } from "../../routes/router.ts";
import type { Page } from "../../services/pagination.ts";
import {
  createHardware,
  deleteHardware,
  getHardware,
  listHardware,
  putHardware as saveHardware,
} from "../../services/runners/hardware.ts";
import { requireOperator } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm } from "../form.ts";
import { Select, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty, Pager, useCurrency } from "../ui/parts.tsx";
import { FleetTabs } from "../ui/tabs.tsx";

const LOCATION_NAMES: Record<LocationHint, string> = {
  wnam: "Western North America",
  enam: "Eastern North America",
  sam: "South America",
  weur: "Western Europe",
  eeur: "Eastern Europe",
  apac: "Asia-Pacific",
  oc: "Oceania",
  afr: "Africa",
  me: "Middle East",
};

export const HardwarePage = ({
  draft,
  page,
  edited,
}: {
  draft: Draft;
  page: Page<Hardware>;
  edited: Hardware | undefined;
}) => (
  <>
    <FleetTabs current="/fleet/hardware" />
    <p>
      A hardware class is a type of machine, or a share of one. Models run on a class, and runners
      serve one or more. Classes in a pool share a queue and machines.
    </p>
    {edited ? (
      <section aria-labelledby="edit-title">
        <h2 id="edit-title">Edit {edited.identifier}</h2>
        <ClassForm draft={draft} edited={edited} />
      </section>
    ) : (
      <details
        class="new-token spaced"
        open={draft.values !== undefined || page.items.length === 0}
      >
        <summary class="button primary">New hardware class</summary>
        <ClassForm draft={draft} edited={undefined} />
      </details>
    )}
    {page.items.length === 0 ? (
      <Empty title="No hardware yet">
        <p>Create a class above, then a token for its runners.</p>
      </Empty>
    ) : (
      <List items={page.items} />
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

const ClassForm = ({ draft, edited }: { draft: Draft; edited: Hardware | undefined }) => (
  <Form
    action={edited ? `/fleet/hardware/${edited.identifier}` : "/fleet/hardware"}
    class="narrow"
    draft={draft}
  >
    {!edited && (
      <TextField
        name="identifier"
        label="Identifier"
        hint="Lowercase letters and digits, separated by '.', '_' or '-'. Can't be changed."
        placeholder="l40s"
        maxlength={63}
        autocomplete="off"
        required
      />
    )}
    <TextField
      name="name"
      label="Name"
      placeholder="NVIDIA L40S"
      maxlength={100}
      value={edited?.name ?? ""}
      autocomplete="off"
      required
    />
    <div class="cards below">
      <NumberField whole name="gpus" label="GPUs" value={edited?.gpus ?? 0} />
      <NumberField name="ram_per_gpu_gb" label="GB per GPU" value={edited?.ram_per_gpu_gb ?? 0} />
      <NumberField whole name="cpus" label="CPU cores" value={edited?.cpus ?? 1} />
      <NumberField name="ram_gb" label="Memory, GB" value={edited?.ram_gb ?? 0} />
    </div>
    <TextField
      name="price_per_hour"
      label="Price per hour"
      hint={`In ${useCurrency()}. Used to calculate run costs.`}
      value={edited?.price_per_hour ?? ""}
    />
    <TextField
      name="pool"
      label="Pool"
      hint="Classes in a pool share a queue and machines (e.g. 1-GPU and 4-GPU). By default, each class has its own pool. Can't be changed after first use."
      value={edited?.pool ?? ""}
      maxlength={63}
      autocomplete="off"
    />
    <Select
      name="location_hint"
      label="Location"
      hint="Where the runners are. The queue is created there. Can't be changed after first use."
      value={edited?.location_hint ?? ""}
      options={[
        { value: "", label: "Automatic" },
        ...LOCATION_HINTS.map((value) => ({ value, label: LOCATION_NAMES[value] })),
      ]}
    />
    <div class="flow actions">
      <Submit>{edited ? "Save" : "Create class"}</Submit>
      {edited && (
        <a class="button quiet" href="/fleet/hardware">
          Cancel
        </a>
      )}
    </div>
  </Form>
);

/** `type="number"` accepts whole numbers only. */
const NumberField = ({
  value,
  whole = false,
  ...field
}: {
  name: string;
  label: string;
  value: number;
  whole?: boolean;
}) => (
  <TextField
    {...field}
    value={String(value)}
    required
    {...(whole && { type: "number" as const, min: "0" })}
  />
);

const List = ({ items }: { items: Hardware[] }) => (
  <ul class="rows">
    {items.map((one) => (
      <li>
        <div>
          <strong>{one.identifier}</strong> {one.name !== one.identifier && <bdi>{one.name}</bdi>}
          <small>{summaryOf(one)}</small>
        </div>
        <div class="flow">
          <a
            class="button quiet"
            href={`/fleet/hardware/${one.identifier}`}
            aria-label={`Edit ${one.identifier}`}
          >
            Edit
          </a>
          <Form
            action={`/fleet/hardware/${one.identifier}/delete`}
            data-confirm={`Delete hardware class ${one.identifier}?`}
          >
            <button type="submit" class="danger" aria-label={`Delete ${one.identifier}`}>
              Delete
            </button>
          </Form>
        </div>
      </li>
    ))}
  </ul>
);

const summaryOf = (one: Hardware) => {
  const { gpus, ram_per_gpu_gb, cpus, ram_gb, price_per_hour, location_hint } = one;
  const { identifier, pool, currency } = one;
  return [
    gpus > 0 &&
      `${gpus} ${gpus === 1 ? "GPU" : "GPUs"}${ram_per_gpu_gb > 0 ? ` of ${ram_per_gpu_gb} GB` : ""}`,
    `${cpus} ${cpus === 1 ? "core" : "cores"}`,
    ram_gb > 0 && `${ram_gb} GB`,
    price_per_hour !== null && `${priceText(amountOf(price_per_hour) ?? 0, currency)} per hour`,
    location_hint !== null && LOCATION_NAMES[location_hint],
    pool !== identifier && `pool ${pool}`,
  ]
    .filter(Boolean)
    .join(", ");
};

const PAGE_SIZE = 50;

const newHardware = putHardware.extend({ identifier: slug });

export const hardwarePages = pages()
  .get("/fleet/hardware", requireOperator, (c) => show(c, emptyDraft))
  .post("/fleet/hardware", requireOperator, async (c) => {
    const { done: created, draft } = await handleForm(c, async (form) => {
      const values = {
        ...readHardwareForm(form),
        identifier: fieldText(form, "identifier").trim(),
      };
      const { identifier, ...request } = parse(newHardware, values, "body");
      return createHardware(c.var.services, identifier, request);
    });
    if (draft) return show(c, draft);
    return redirectWithFlash(c, `Hardware class ${created.identifier} created.`, "/fleet/hardware");
  })
  .get("/fleet/hardware/:identifier", requireOperator, async (c) =>
    show(c, emptyDraft, await getHardware(c.var.services, c.req.param("identifier"))),
  )
  .post("/fleet/hardware/:identifier", requireOperator, async (c) => {
    const edited = await getHardware(c.var.services, c.req.param("identifier"));
    const { draft } = await handleForm(c, async (form) =>
      saveHardware(
        c.var.services,
        edited.identifier,
        parse(putHardware, readHardwareForm(form, edited), "body"),
      ),
    );
    if (draft) return show(c, draft, edited);
    return redirectWithFlash(c, `Hardware class ${edited.identifier} saved.`, "/fleet/hardware");
  })
  .post("/fleet/hardware/:identifier/delete", requireOperator, async (c) => {
    const identifier = c.req.param("identifier");
    await deleteHardware(c.var.services, identifier);
    return redirectWithFlash(c, `Hardware class ${identifier} deleted.`, "/fleet/hardware");
  });

/** Empty fields get the API's default; anything but a number is left for the schema to reject. */
function readHardwareForm(form: FormData, edited?: Hardware) {
  const numberOf = (name: string) => {
    const text = fieldText(form, name).trim();
    if (text === "") return undefined;
    return /^-?(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : text;
  };
  const pool = fieldText(form, "pool").trim();
  // A class that joins a pool takes over its location.
  const location = pool === edited?.pool ? null : undefined;
  return {
    name: fieldText(form, "name").trim(),
    gpus: numberOf("gpus"),
    cpus: numberOf("cpus"),
    ram_per_gpu_gb: numberOf("ram_per_gpu_gb"),
    ram_gb: numberOf("ram_gb"),
    price_per_hour: fieldText(form, "price_per_hour").trim() || null,
    pool: pool || undefined,
    location_hint: fieldText(form, "location_hint") || location,
  };
}

/** @param edited the class to edit; absent for a new one */
async function show(c: PageContext, draft: Draft, edited?: Hardware) {
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const page = await listHardware(c.var.services, list);
  return c.render(<HardwarePage draft={draft} page={page} edited={edited} />, {
    title: edited ? `Hardware ${edited.identifier}` : "Hardware",
  });
}
