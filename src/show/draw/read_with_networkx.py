"""Prints what NetworkX reads from a GraphML file and from a node-link file, as JSON: for tests."""
import json
import sys
import warnings

warnings.simplefilter("ignore")
import networkx as nx

graph_file, node_link_file = sys.argv[1:3]
document = json.load(open(node_link_file))
key = "edges" if "edges" in document else "links"
version = tuple(int(part) for part in nx.__version__.split(".")[:2])
if version >= (3, 4):
    linked = nx.node_link_graph(document, edges=key)
elif key == "links":
    linked = nx.node_link_graph(document)
else:
    linked = nx.node_link_graph({**document, "links": document["edges"]})
graphml = nx.read_graphml(graph_file)


def described(graph):
    return {
        "nodes": graph.number_of_nodes(),
        "edges": graph.number_of_edges(),
        "types": {str(node): {name: type(value).__name__ for name, value in data.items()} for node, data in graph.nodes(data=True)},
        "values": {str(node): {name: value for name, value in data.items() if not isinstance(value, dict)} for node, data in graph.nodes(data=True)},
    }


print(json.dumps({"version": nx.__version__, "graphml": described(graphml), "node_link": described(linked)}))
