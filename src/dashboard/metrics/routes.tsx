/** Pages with charts: /models/{owner}/{name}/metrics for its owner, and /fleet/metrics for operators. */
import { z } from "zod";
import { SPANS, type Span } from "../../domain/metrics/history.ts";
import { modelName } from "../../protocol/operator.ts";
import { readGpuHistory, readHistory } from "../../services/metrics.ts";
import { requireOperator, requireUser } from "../access.ts";
import { pages } from "../context.ts";
import { modelAddress, ownModelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { FleetTabs } from "../ui/tabs.tsx";
import { Gpus, Metrics } from "./charts.tsx";

const shown = z.object({
  span: z.enum(Object.keys(SPANS) as [Span, ...Span[]]).catch("24h"),
  model: modelName.optional().catch(undefined),
});

export const metricsPages = pages()
  .get("/models/:owner/:name/metrics", requireUser, async (c) => {
    const model = await ownModelOf(c);
    const { span } = shown.parse(c.req.query());
    const points = await readHistory(c.var.services, referenceOf(model), span);
    return renderModel(
      c,
      { model, page: "/metrics", title: `Metrics of ${referenceOf(model)}` },
      <Metrics points={points} span={span} address={`${modelAddress(model, "/metrics")}?`} />,
    );
  })
  .get("/fleet/metrics", requireOperator, async (c) => {
    const { span, model } = shown.parse(c.req.query());
    const [points, gpus] = await Promise.all([
      readHistory(c.var.services, model ?? null, span),
      model === undefined ? readGpuHistory(c.var.services, span) : [],
    ]);
    const address = `/fleet/metrics?${model === undefined ? "" : `model=${encodeURIComponent(model)}&`}`;
    return c.render(
      <>
        <FleetTabs current="/fleet/metrics" />
        <p class="quiet">
          {model === undefined ? "All models" : model}, of all accounts. For Prometheus and Grafana,
          see <a href="/docs/monitoring">Monitoring</a>.
        </p>
        <Metrics points={points} span={span} address={address} />
        <Gpus pools={gpus} span={span} />
      </>,
      { title: model === undefined ? "Metrics" : `Metrics of ${model}` },
    );
  });
