/** What has happened lately, for whoever is past the first steps. */
import type { ModelItem } from "../../protocol/model.ts";
import type { ListedPrediction } from "../../services/predictions/prediction-view.ts";
import { type Gallery, ModelCards } from "../models/list.tsx";
import { PredictionTable } from "../predictions/list.tsx";

interface Props {
  username: string;
  models: ModelItem[];
  gallery: Gallery;
  predictions: ListedPrediction[];
}

export const Overview = ({ username, models, gallery, predictions }: Props) => (
  <div class="overview">
    {predictions.length > 0 && (
      <section aria-labelledby="latest-title">
        <div class="title-row">
          <h2 id="latest-title">Latest predictions</h2>
          <a href="/predictions">All predictions</a>
        </div>
        <div data-list data-first="true">
          <PredictionTable predictions={predictions} />
        </div>
      </section>
    )}
    {models.length > 0 && (
      <section aria-labelledby="models-title">
        <div class="title-row">
          <h2 id="models-title">Your models</h2>
          <a href={`/models/${username}`}>All of them</a>
        </div>
        <ModelCards models={models} gallery={gallery} />
      </section>
    )}
  </div>
);
