// Draws the charts of the report from the JSON beside it. Every number is in a table too: without scripts, nothing is
// lost. Text reaches the page only through Chart.js's canvas, never as HTML.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (typeof Chart === "undefined") {
    document.documentElement.classList.add("no-charts");
    return;
  }
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const charts = [];
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function common() {
    Chart.defaults.color = color("soft");
    Chart.defaults.borderColor = color("line");
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.maintainAspectRatio = false;
    Chart.defaults.animation = calm ? false : { duration: 300 };
    Chart.defaults.plugins.legend.display = false;
  }

  // Bands behind the steps: which phase ran when. A block that counts for nothing is paler, and says so.
  const bands = {
    id: "bands",
    beforeDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x } } = chart;
      ctx.save();
      ctx.font = "11px " + Chart.defaults.font.family;
      ctx.textBaseline = "top";
      data.stretches.filter((stretch) => stretch.tint !== "none").forEach((stretch) => {
        const left = Math.max(area.left, x.getPixelForValue(stretch.from));
        const right = Math.min(area.right, x.getPixelForValue(stretch.to));
        if (!(right > left)) return;
        ctx.fillStyle = color(stretch.tint) + (stretch.counts ? "33" : "14");
        ctx.fillRect(left, area.top, right - left, area.bottom - area.top);
        const words = stretch.counts ? stretch.phase : stretch.phase + " (not counted)";
        ctx.fillStyle = color("ink");
        if (ctx.measureText(words).width + 6 < right - left) ctx.fillText(words, left + 3, area.top + 2);
      });
      ctx.restore();
    },
  };

  function timeline(canvas) {
    // A row holds from its beginning to its end: two points draw it as a step. Where nothing was measured, the line
    // ends.
    const points = (key) => data.timeline.flatMap((row, i) => {
      const next = data.timeline[i + 1];
      const gap = next && next.from > row.to + 1e-3 * (row.to - row.from) ? [{ x: row.to, y: null }] : [];
      return [{ x: row.from, y: row[key], row }, { x: row.to, y: row[key], row }, ...gap];
    });
    const line = (label, key, tint) => ({
      label, data: points(key), borderColor: color(tint), borderWidth: 1.5, backgroundColor: color(tint) + "55",
      fill: "origin", pointRadius: 0, pointHitRadius: 6,
    });
    const longest = data.timeline.some((row) => row.longest > 1.001 * row.step);
    const sets = [line("of it waiting for data", "wait", "wait"), line("time of a step", "step", "ink")];
    sets[1].fill = false;
    if (longest) sets.push({ ...line("longest step", "longest", "soft"), fill: false, borderWidth: 1, borderDash: [2, 3] });
    return new Chart(canvas, {
      type: "line",
      data: { datasets: sets },
      plugins: [bands],
      options: {
        parsing: false, interaction: { mode: "nearest", axis: "x", intersect: false },
        plugins: {
          legend: { display: true },
          tooltip: {
            filter: (item) => item.datasetIndex === 1,
            callbacks: { title: (items) => items.map((item) => item.raw.row.title + ", " + item.raw.row.phase), label: (item) => item.raw.row.label },
          },
        },
        scales: {
          x: { type: "linear", min: 0, max: Math.max(...data.timeline.slice(-1).map((row) => row.to), ...data.stretches.slice(-1).map((stretch) => stretch.to)), title: { display: true, text: "seconds since the first batch was asked for" } },
          y: { min: 0, max: data.timeline_top > 0 ? data.timeline_top : undefined, title: { display: true, text: data.timeline_unit } },
        },
      },
    });
  }

  // Upright lines at the run as profiled and at what is recommended; level ones where a mark has a y.
  const marks = (list) => ({
    id: "marks",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x, y } } = chart;
      ctx.save();
      ctx.font = "11px " + Chart.defaults.font.family;
      ctx.strokeStyle = ctx.fillStyle = color("ink");
      ctx.setLineDash([4, 3]);
      list.forEach((mark, i) => {
        const wide = ctx.measureText(mark.words).width;
        ctx.beginPath();
        if (mark.y !== undefined) {
          const level = y.getPixelForValue(mark.y);
          ctx.moveTo(area.left, level);
          ctx.lineTo(area.right, level);
          ctx.stroke();
          ctx.fillText(mark.words, area.right - 4 - wide, level - 4);
          return;
        }
        const at = x.getPixelForValue(mark.x);
        ctx.moveTo(at, area.top);
        ctx.lineTo(at, area.bottom);
        ctx.stroke();
        ctx.fillText(mark.words, at + 4 + wide > area.right ? at - 4 - wide : at + 4, area.bottom - 8 - 14 * i);
      });
      ctx.restore();
    },
  });

  const dashes = [[], [6, 3], [2, 3], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2]];

  function curve(canvas, entry) {
    const type = entry.log ? "logarithmic" : "linear";
    const sets = entry.lines.flatMap((line, i) => {
      const edge = (key, fill) => ({
        label: key, band: true, data: line.points.map((point) => ({ x: point.x, y: point[key] })), borderWidth: 0, pointRadius: 0,
        pointHitRadius: 0, backgroundColor: color(line.tint) + "33", fill,
      });
      const mean = {
        label: line.name, data: line.points.map((point) => ({ x: point.x, y: point.mean, label: point.label })), borderColor: color(line.tint),
        backgroundColor: color(line.tint), borderWidth: 2, pointRadius: 3, fill: false, borderDash: dashes[i % dashes.length],
      };
      return [edge("high", "+1"), edge("low", false), mean];
    });
    return new Chart(canvas, {
      type: "line",
      data: { datasets: sets },
      plugins: [marks(entry.marks)],
      options: {
        parsing: false, interaction: { mode: "nearest", intersect: false },
        plugins: {
          legend: { display: entry.lines.length > 1, labels: { filter: (item, all) => !all.datasets[item.datasetIndex].band } },
          tooltip: { filter: (item) => !item.dataset.band, callbacks: { title: (items) => items.map((item) => item.parsed.x + " " + entry.x_title), label: (item) => item.raw.label } },
        },
        scales: {
          x: { type, ticks: { precision: 0 }, title: { display: true, text: entry.x_title } },
          y: { type, beginAtZero: true, title: { display: true, text: entry.y_title || "samples/s, 90 % interval" } },
        },
      },
    });
  }

  // The number of a point in the table beside the chart.
  const numbers = {
    id: "numbers",
    afterDatasetsDraw(chart) {
      const { ctx } = chart;
      ctx.save();
      ctx.font = "11px " + Chart.defaults.font.family;
      ctx.fillStyle = color("ink");
      ctx.textAlign = "center";
      chart.data.datasets.forEach((set, i) => {
        if (set.band || !chart.isDatasetVisible(i)) return;
        chart.getDatasetMeta(i).data.forEach((point, j) => ctx.fillText(set.data[j].number, point.x, point.y - 10));
      });
      ctx.restore();
    },
  };

  // Time against cost. Cost is time at a price, so both intervals are one: a line through the point.
  function front(canvas, entry) {
    const intervals = entry.groups.flatMap((group) => group.points.flatMap((point) =>
      [{ x: point.x_low, y: point.y_low }, { x: point.x_high, y: point.y_high }, { x: point.x_high, y: null }]));
    const sets = entry.groups.map((group) => ({
      label: group.name, data: group.points, pointStyle: group.shape, pointRadius: group.shape === "circle" ? 5 : 8, pointHitRadius: 8,
      pointHoverRadius: 8, borderColor: color(group.tint), borderWidth: 2, backgroundColor: color(group.hollow ? "card" : group.tint),
    }));
    sets.push({
      label: "90 % interval", data: intervals, type: "line", band: true, showLine: true, borderColor: color("soft"), borderWidth: 1.5,
      pointStyle: "line", pointRadius: 0, pointHitRadius: 0,
    });
    const axis = (side) => ({
      type: side.log ? "logarithmic" : "linear", min: side.min, max: side.max, title: { display: true, text: side.title },
      ticks: { callback(value) { return side.log ? Chart.Ticks.formatters.logarithmic.apply(this, arguments) : Number(value.toPrecision(3)).toString(); } },
    });
    return new Chart(canvas, {
      type: "scatter",
      data: { datasets: sets },
      plugins: [marks(entry.targets), numbers],
      options: {
        parsing: false, interaction: { mode: "nearest", intersect: false },
        plugins: {
          legend: { display: true, labels: { usePointStyle: true } },
          tooltip: { filter: (item) => !item.dataset.band, callbacks: { title: (items) => items.map((item) => item.dataset.label), label: (item) => item.raw.number + ": " + item.raw.label } },
        },
        scales: { x: axis(entry.x), y: axis(entry.y) },
      },
    });
  }

  function histogram(canvas, entry) {
    return new Chart(canvas, {
      type: "bar",
      data: { labels: entry.labels, datasets: [{ data: entry.counts, backgroundColor: color(entry.tint), barPercentage: 1, categoryPercentage: .95 }] },
      options: {
        plugins: { tooltip: { callbacks: { title: (items) => "from " + items[0].label, label: (item) => item.formattedValue + " values" } } },
        scales: {
          x: { grid: { display: false }, ticks: { maxTicksLimit: 6, maxRotation: 0, autoSkipPadding: 14 } },
          y: { beginAtZero: true, ticks: { maxTicksLimit: 5, precision: 0 } },
        },
      },
    });
  }

  function draw() {
    charts.splice(0).forEach((chart) => chart.destroy());
    common();
    const canvas = document.getElementById("chart-timeline");
    if (canvas && data.timeline.length > 0) charts.push(timeline(canvas));
    if (data.front) charts.push(front(document.getElementById("chart-front"), data.front));
    data.curves.forEach((entry) => {
      const place = document.getElementById("chart-curve-" + entry.key);
      if (place) charts.push(curve(place, entry));
    });
    data.distributions.forEach((entry, i) => charts.push(histogram(document.getElementById("chart-" + i), entry)));
  }

  draw();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((element) => { element.open = true; });
    charts.forEach((chart) => chart.resize());
  });
})();
