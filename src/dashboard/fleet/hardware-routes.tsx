/** `/fleet/hardware`: hardware classes. */
import { slug } from "../../protocol/common.ts";
import { type Hardware, putHardware } from "../../protocol/hardware.ts";
import { parse } from "../../routes/router.ts";
import {
  createHardware,
  deleteHardware,
  getHardware,
  listHardware,
  putHardware as saveHardware,
} from "../../services/runners/hardware.ts";
import { requireOperator } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { redirectWithFlash } from "../flash.ts";
import { type Draft, emptyDraft, fieldText, handleForm } from "../form.ts";
import { HardwarePage } from "./hardware.tsx";

const PAGE_SIZE = 50;

const newHardware = putHardware.extend({ identifier: slug });

export const hardwarePages = pages()
  .get("/fleet/hardware", requireOperator, (c) => show(c, emptyDraft))
  .post("/fleet/hardware", requireOperator, async (c) => {
    const {
      done: created,
      draft,
      status,
    } = await handleForm(c, async (form) => {
      const values = {
        ...readHardwareForm(form),
        identifier: fieldText(form, "identifier").trim(),
      };
      const { identifier, ...request } = parse(newHardware, values, "body");
      return createHardware(c.var.services, identifier, request);
    });
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    return redirectWithFlash(c, `Hardware class ${created.identifier} created.`, "/fleet/hardware");
  })
  .get("/fleet/hardware/:identifier", requireOperator, async (c) =>
    show(c, emptyDraft, await getHardware(c.var.services, c.req.param("identifier"))),
  )
  .post("/fleet/hardware/:identifier", requireOperator, async (c) => {
    const edited = await getHardware(c.var.services, c.req.param("identifier"));
    const { draft, status } = await handleForm(c, async (form) =>
      saveHardware(
        c.var.services,
        edited.identifier,
        parse(putHardware, readHardwareForm(form, edited), "body"),
      ),
    );
    if (draft) {
      c.status(status);
      return show(c, draft, edited);
    }
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
    price_per_hour: numberOf("price_per_hour") ?? null,
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
