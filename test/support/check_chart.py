"""Renders a Helm chart, and holds what comes of it to Kubernetes' own schemas. Arguments: the chart, a JSON file of values, the release, the
namespace. Prints JSON: `manifests` by template, `lint` (messages but for the wish of an icon), `faults`; or `refused`, why values were not taken."""

import json
import sys

import helm_python
import kubernetes_validate
import yaml

# What the chart says in kubeVersion, and the newest that the schemas have.
VERSIONS = ["1.28", "1.31", "1.34", kubernetes_validate.latest_version()]


def faults_of(text, place):
    for item in yaml.safe_load_all(text):
        if item is None:
            continue
        name = f"{place}: {item['kind']} {item['metadata']['name']}"
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(item, version, strict=True)
            except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
                yield f"{name} in {version}: {error.message}"


def checked(chart, values, release, namespace):
    with helm_python.Chart.load(chart) as loaded:
        loaded.validate_schema(values)
        manifests = loaded.render(values, name=release, namespace=namespace)
    lint = helm_python.lint(chart, values, strict=True, namespace=namespace)
    messages = [each["error"] for each in lint["messages"] if each["error"] != "icon is recommended"]
    objects = {place: text for place, text in manifests.items() if place.endswith(".yaml")}
    faults = [fault for place, text in objects.items() for fault in faults_of(text, place)]
    return {"manifests": objects, "lint": messages + lint["errors"], "faults": faults}


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf8") as file:
        given = json.load(file)
    try:
        print(json.dumps(checked(sys.argv[1], given, *sys.argv[3:5])))
    except helm_python.HelmError as refusal:
        print(json.dumps({"refused": str(refusal)}))
